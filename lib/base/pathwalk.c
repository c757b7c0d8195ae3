/*
 * A folder is opened with O_PATH and O_NOFOLLOW, so that a link is seen and not followed.  Its text
 * then replaces the component.  Folders before the last component are opened with
 * O_DIRECTORY, too, because only that flag makes the kernel mount automatically (autofs).
 *
 * The links of procfs are followed by the kernel: most of them (/proc/self/fd/1, /proc/1/root) lead
 * to a file and not to a name, and their text is not always a path.
 */

#include "base/pathwalk.h"

#include "base/cleanup.h"
#include "base/fstype.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#define REST_BYTES (2 * PATH_MAX)

struct walk {
	const struct pathwalk_policy *policy;
	struct pathwalk to;
	struct stat root;          /* of policy->root_fd */
	unsigned n_links;
	struct err *e;
	char rest[REST_BYTES];     /* the rest of the path */
};

void pathwalk_close(struct pathwalk *w)
{
	if (w->folder_fd >= 0)
		close(w->folder_fd);
	if (w->fd >= 0)
		close(w->fd);
	w->folder_fd = w->fd = -1;
}

/* ---- what is found ----------------------------------------------------------------- */

/* O_DIRECTORY would mount automatically, which may wait. */
static int folder_flags(const struct walk *w)
{
	return O_PATH | O_CLOEXEC | (w->policy->at_once ? 0 : O_DIRECTORY);
}

/* The state of a descriptor that the walk has opened. */
static int find_state(const struct walk *w, int fd, struct stat *ret)
{
	mode_t mode;
	if (w->policy->at_once && fstype_of(w->policy->at_once, fd, 0, &mode) == FSTYPE_REMOTE)
		return -EREMOTE;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

/* ---- folders --------------------------------------------------------------------- */

/* Takes ownership of fd. */
static int enter_folder(struct walk *w, int fd)
{
	const struct pathwalk_policy *p = w->policy;
	if (w->to.folder_fd >= 0)
		close(w->to.folder_fd);
	w->to.folder_fd = fd;
	w->to.name[0] = '\0';
	int r = find_state(w, fd, &w->to.folder);
	if (r < 0)
		return r;
	return p->folder ? p->folder(p->ctx, fd, &w->to.folder, w->e) : 0;
}

static int enter_first(struct walk *w, bool is_absolute)
{
	int root_fd = w->policy->root_fd;
	int fd = root_fd >= 0 ? openat(root_fd, ".", folder_flags(w))
			      : open(is_absolute ? "/" : ".", folder_flags(w));
	return fd < 0 ? -errno : enter_folder(w, fd);
}

static int enter_parent(struct walk *w)
{
	const struct stat *now = &w->to.folder;
	if (w->policy->root_fd >= 0 && now->st_ino == w->root.st_ino &&
	    now->st_dev == w->root.st_dev)
		return 0;
	int fd = openat(w->to.folder_fd, "..", folder_flags(w));
	return fd < 0 ? -errno : enter_folder(w, fd);
}

/* ---- links ------------------------------------------------------------------------- */

static bool is_in_proc(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Puts the text of the link before the rest of the path. */
static int replace_by_text(struct walk *w, int link_fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text));
	if (n < 0)
		return -errno;
	size_t n_rest = strlen(w->rest);
	if (n == 0)
		return -ENOENT;
	if ((size_t)n == sizeof(text) || (size_t)n + 1 + n_rest >= sizeof(w->rest))
		return -ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, n_rest + 1);
	memcpy(w->rest, text, (size_t)n);
	/* "a/" is not "a": the slash says that a folder follows. */
	w->rest[n] = '/';
	if (n_rest == 0)
		w->rest[n] = '\0';
	return text[0] == '/' ? enter_first(w, true) : 0;
}

static int follow_link(struct walk *w, const char *name, int link_fd, const struct stat *st,
		       bool is_last)
{
	const struct pathwalk_policy *p = w->policy;
	const struct pathwalk_link link = {
		.name = name, .folder = &w->to.folder, .st = st, .in_proc = is_in_proc(link_fd),
	};
	if (++w->n_links > PATHWALK_LINKS_MAX)
		return -ELOOP;
	int r = p->link ? p->link(p->ctx, &link, w->e) : 0;
	if (r < 0)
		return r;
	if (!link.in_proc)
		return replace_by_text(w, link_fd);
	CLEANUP_CLOSE int fd = openat(w->to.folder_fd, name, O_PATH | O_CLOEXEC);
	r = fd < 0 ? -errno : find_state(w, fd, &w->to.st);
	if (r < 0)
		return r;
	if (!is_last)
		return S_ISDIR(w->to.st.st_mode) ? enter_folder(w, TAKE_FD(fd)) : -ENOTDIR;
	snprintf(w->to.name, sizeof(w->to.name), "%s", name);
	w->to.is_proc_link = true;
	w->to.fd = TAKE_FD(fd);
	return 0;
}

/* ---- steps ---------------------------------------------------------------------- */

/* Removes the first component from the rest.  False if there is none. */
static bool take_name(struct walk *w, char name[NAME_MAX + 1], bool *ret_slash, int *ret)
{
	char *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");
	*ret = n > NAME_MAX ? -ENAMETOOLONG : 0;
	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	*ret_slash = p[n] == '/';
	p += n;
	p += strspn(p, "/");
	memmove(w->rest, p, strlen(p) + 1);
	return true;
}

static int walk_name(struct walk *w, const char *name, bool has_slash)
{
	struct stat st;
	bool is_last = !w->rest[0];
	CLEANUP_CLOSE int fd = -1;
	if (!is_last)
		fd = openat(w->to.folder_fd, name, folder_flags(w) | O_NOFOLLOW);
	if (fd < 0 && (is_last || errno == ENOTDIR))
		fd = openat(w->to.folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && !(is_last && errno == ENOENT))
		return -errno;
	int r = fd >= 0 ? find_state(w, fd, &st) : 0;
	if (r < 0)
		return r;
	if (fd >= 0 && S_ISLNK(st.st_mode))
		return follow_link(w, name, fd, &st, is_last);
	if (!is_last)
		return S_ISDIR(st.st_mode) ? enter_folder(w, TAKE_FD(fd)) : -ENOTDIR;
	snprintf(w->to.name, sizeof(w->to.name), "%s", name);
	w->to.has_slash = has_slash;
	if (fd >= 0)
		w->to.st = st;
	w->to.fd = TAKE_FD(fd);
	return 0;
}

static int walk_rest(struct walk *w)
{
	char name[NAME_MAX + 1];
	bool has_slash;
	int r;
	while (take_name(w, name, &has_slash, &r)) {
		if (strcmp(name, ".") == 0)
			r = 0;
		else if (strcmp(name, "..") == 0)
			r = enter_parent(w);
		else
			r = walk_name(w, name, has_slash);
		if (r < 0 || w->to.is_proc_link)
			return r;
	}
	return r;
}

int pathwalk_open(const char *path, const struct pathwalk_policy *policy, struct pathwalk *ret,
		  struct err *e)
{
	struct walk w = { .policy = policy, .to = { .folder_fd = -1, .fd = -1 }, .e = e };
	size_t n = strlen(path);
	if (n == 0)
		return -ENOENT;
	if (n >= sizeof(w.rest))
		return -ENAMETOOLONG;
	if (policy->root_fd >= 0 && fstat(policy->root_fd, &w.root) < 0)
		return -errno;
	memcpy(w.rest, path, n + 1);
	int r = enter_first(&w, path[0] == '/');
	if (r == 0)
		r = walk_rest(&w);
	if (r < 0) {
		pathwalk_close(&w.to);
		return r;
	}
	*ret = w.to;
	return 0;
}

/* ---- owners ---------------------------------------------------------------------- */

/* Files of users without a number in this user namespace, root included, appear with this id. */
static bool is_unmapped(uid_t uid)
{
	unsigned overflow = 65534, first, below, n;
	FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");
	if (f) {
		if (fscanf(f, "%u", &overflow) != 1)
			overflow = 65534;
		fclose(f);
	}
	if (uid != overflow)
		return false;
	f = fopen("/proc/self/uid_map", "re");
	bool is_whole = !f || fscanf(f, "%u %u %u", &first, &below, &n) != 3 ||
			(first == 0 && below == 0 && n == UINT32_MAX);
	if (f)
		fclose(f);
	return !is_whole;
}

bool pathwalk_is_shared(const struct stat *folder)
{
	uid_t uid = folder->st_uid;
	if (folder->st_mode & (S_IWGRP | S_IWOTH))
		return true;
	return uid != 0 && uid != geteuid() && !is_unmapped(uid);
}

bool pathwalk_is_foreign(uid_t owner, const struct stat *folder)
{
	return owner != 0 && owner != geteuid() && pathwalk_is_shared(folder);
}

int pathwalk_reopen(int path_fd, int flags)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pathwalk_open_found(const struct pathwalk *w, int flags)
{
	struct stat st;
	int r = pathwalk_reopen(w->fd, flags);
	if (r != -ENOENT)
		return r;
	CLEANUP_CLOSE int fd = openat(w->folder_fd, w->name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != w->st.st_dev || st.st_ino != w->st.st_ino)
		return -ESTALE;
	return TAKE_FD(fd);
}
