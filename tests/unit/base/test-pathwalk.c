#include "base/pathwalk.h"

#include "base/err.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/cprof-test-pathwalk-XXXXXX";
static int dir_fd;

static const struct pathwalk_policy anything = { .root_fd = -1 };

/* Walks to path, below the folder unless it is absolute. */
static int walk(const char *path, const struct pathwalk_policy *policy, struct pathwalk *w)
{
	char text[2 * PATH_MAX];
	snprintf(text, sizeof(text), "%s/%s", dir, path);
	return pathwalk_open(path[0] == '/' ? path : text, policy, w, NULL);
}

static bool leads_to(const char *path, const struct pathwalk_policy *policy, const char *folder,
		     const char *name, bool exists)
{
	struct pathwalk w;
	struct stat want, st;
	int r = walk(path, policy, &w);
	if (r < 0) {
		printf("# '%s': %s\n", path, strerror(-r));
		return false;
	}
	bool ok = fstatat(dir_fd, folder, &want, 0) == 0 && want.st_ino == w.folder.st_ino &&
		  want.st_dev == w.folder.st_dev && strcmp(w.name, name) == 0 &&
		  exists == (w.fd >= 0) &&
		  (!exists || (fstat(w.fd, &st) == 0 && st.st_ino == w.st.st_ino));
	pathwalk_close(&w);
	return ok;
}

static void test_paths(void)
{
	struct pathwalk w;
	tap_ok(leads_to("a/f", &anything, "a", "f", true), "a file");
	tap_ok(leads_to("a//./b/../f", &anything, "a", "f", true), "slashes and dots");
	tap_ok(leads_to("a/new", &anything, "a", "new", false), "a name that is free");
	tap_ok(leads_to("a/b", &anything, "a", "b", true), "a folder");
	tap_ok(leads_to("a/b/..", &anything, "a", "", false), "a path without a last name");
	tap_ok(leads_to("link", &anything, "a", "f", true), "a link to a file");
	tap_ok(leads_to("to-b/../f", &anything, "a", "f", true), "a link to a folder, and back");
	tap_ok(leads_to("absolute", &anything, "a", "f", true), "an absolute link");
	tap_ok(leads_to("dangling", &anything, "a", "later", false), "a link to what is to come");
	tap_int(walk("loop", &anything, &w), -ELOOP, "a loop of links");
	tap_int(walk("none/f", &anything, &w), -ENOENT, "a missing folder");
	tap_int(walk("a/f/x", &anything, &w), -ENOTDIR, "a file as the folder");
	tap_int(pathwalk_open("", &anything, &w, NULL), -ENOENT, "an empty path");
	char name[NAME_MAX + 2];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	tap_int(walk(name, &anything, &w), -ENAMETOOLONG, "a name that is too long");
	tap_ok(walk("a/x/", &anything, &w) == 0 && w.has_slash && w.fd < 0,
	       "a slash after the name is reported");
	pathwalk_close(&w);
}

static void test_root(void)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/a", dir);
	const struct pathwalk_policy below = {
		.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	struct pathwalk w;
	struct stat st;
	fstatat(dir_fd, "a/f", &st, 0);
	tap_ok(pathwalk_open("/f", &below, &w, NULL) == 0 && w.st.st_ino == st.st_ino,
	       "an absolute path begins at the root given");
	pathwalk_close(&w);
	tap_ok(pathwalk_open("../../f", &below, &w, NULL) == 0 && w.st.st_ino == st.st_ino,
	       "nothing leads above it");
	pathwalk_close(&w);
	tap_ok(pathwalk_open("/b/out", &below, &w, NULL) == 0 && w.st.st_ino == st.st_ino,
	       "nor does an absolute link");
	pathwalk_close(&w);
	close(below.root_fd);
}

static void test_proc(void)
{
	int fd[2];
	char path[64];
	struct pathwalk w;
	struct stat st;
	if (pipe(fd) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[1]);
	fstat(fd[1], &st);
	tap_ok(pathwalk_open(path, &anything, &w, NULL) == 0 && w.is_proc_link &&
	       S_ISFIFO(w.st.st_mode) && w.st.st_ino == st.st_ino, "a pipe, by its descriptor");
	int again = pathwalk_reopen(w.fd, O_WRONLY);
	tap_ok(again >= 0 && write(again, "x", 1) == 1, "it is opened");
	close(again);
	pathwalk_close(&w);
	close(fd[0]);
	close(fd[1]);
	snprintf(path, sizeof(path), "/proc/self/cwd/a/f");
	(void)!fchdir(dir_fd);
	tap_ok(leads_to(path, &anything, "a", "f", true), "a folder of a process");
	(void)!chdir("/");
}

static int n_links, n_folders;

static int count_folder(void *ctx, int fd, const struct stat *st, struct err *e)
{
	(void)ctx, (void)fd, (void)e;
	n_folders += S_ISDIR(st->st_mode);
	return 0;
}

static int refuse_link(void *ctx, const struct pathwalk_link *link, struct err *e)
{
	n_links++;
	return strcmp(link->name, ctx) == 0 ? err_set(e, EPERM, "not '%s'", link->name) : 0;
}

static void test_policy(void)
{
	const struct pathwalk_policy policy = {
		.root_fd = -1, .folder = count_folder, .link = refuse_link, .ctx = (void *)"to-b",
	};
	struct pathwalk w;
	struct err e = { 0 };
	char path[PATH_MAX];
	tap_ok(leads_to("link", &policy, "a", "f", true) && n_links == 1 && n_folders > 2,
	       "folders and links are shown to the policy");
	snprintf(path, sizeof(path), "%s/to-b/x", dir);
	tap_ok(pathwalk_open(path, &policy, &w, &e) == -EPERM && strcmp(e.what, "not 'to-b'") == 0,
	       "which can refuse one in the middle");
}

static struct stat folder(uid_t uid, mode_t mode)
{
	return (struct stat){ .st_uid = uid, .st_mode = S_IFDIR | mode };
}

static void test_shared(void)
{
	uid_t me = geteuid(), other = me + 12345;
	struct stat mine = folder(me, 0755), roots = folder(0, 0755), others = folder(other, 0755),
		    tmp = folder(0, 01777), group = folder(me, 0775);
	tap_ok(!pathwalk_is_shared(&mine) && !pathwalk_is_shared(&roots),
	       "nobody else writes to our folders, and to root's");
	tap_ok(pathwalk_is_shared(&others), "others write to their own ones");
	tap_ok(pathwalk_is_shared(&tmp) && pathwalk_is_shared(&group),
	       "and to those with the right to write");
}

int main(void)
{
	char target[PATH_MAX];
	if (!mkdtemp(dir))
		return 1;
	dir_fd = open(dir, O_PATH | O_DIRECTORY);
	mkdirat(dir_fd, "a", 0755);
	mkdirat(dir_fd, "a/b", 0755);
	close(openat(dir_fd, "a/f", O_CREAT | O_WRONLY, 0644));
	snprintf(target, sizeof(target), "%s/a/f", dir);
	(void)!symlinkat("a/f", dir_fd, "link");
	(void)!symlinkat("a/b", dir_fd, "to-b");
	(void)!symlinkat(target, dir_fd, "absolute");
	(void)!symlinkat("a/later", dir_fd, "dangling");
	(void)!symlinkat("loop", dir_fd, "loop");
	(void)!symlinkat("/f", dir_fd, "a/b/out");
	test_paths();
	test_root();
	test_proc();
	test_policy();
	test_shared();
	static const char *const names[] = { "link", "to-b", "absolute", "dangling", "loop",
					     "a/b/out", "a/f" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(dir_fd, names[i], 0);
	unlinkat(dir_fd, "a/b", AT_REMOVEDIR);
	unlinkat(dir_fd, "a", AT_REMOVEDIR);
	tap_int(rmdir(dir), 0, "nothing else was created");
	return tap_done();
}
