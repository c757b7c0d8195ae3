/* Nothing is synced: after a crash of the machine a profile may be empty, and is refused then. */
#include "cmd/agent/spool-write.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/agent/keyvalue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_ALONE 0700
#define MODE_GROUP 02770               /* files get the group of the folder */
#define MODE_FILE 0640
/* So much is freed beyond what is needed: listing a large folder takes time. */
#define SLACK 16u
/* Counters are written here, and exchange names with those that are shown. */
#define COUNTERS_NEXT SPOOL_TEMPORARY SPOOL_COUNTERS
#define LOCK_TRIES 20
#define LOCK_WAIT_US 50000

static const struct { const char *key; size_t offset; } counters[] = {
#define COUNTER(name) { #name, offsetof(struct spool_counters, name) }
	COUNTER(profiles), COUNTER(bytes), COUNTER(profiles_lost), COUNTER(bytes_lost),
	COUNTER(profiles_failed), COUNTER(windows), COUNTER(windows_failed),
	COUNTER(windows_reduced), COUNTER(samples), COUNTER(samples_lost), COUNTER(samples_folded),
	COUNTER(cpu_ns), COUNTER(recording),
};
#define N_COUNTERS (sizeof(counters) / sizeof(*counters))

static uint64_t *counter(struct spool_counters *n, size_t i)
{
	return (uint64_t *)((char *)n + counters[i].offset);
}

/* ---- opening ------------------------------------------------------------------------- */

/* Only in a group of its own may a process without CAP_FSETID set the bit by which files get the
 * group of their folder. */
static int set_group(int dir_fd, const char *path, const char *group, struct err *e)
{
	const struct group *g = getgrnam(group);
	struct stat st;
	if (!g)
		return err_set(e, ENOENT, "there is no group '%s'", group);
	if (fstat(dir_fd, &st) == 0 && st.st_gid == g->gr_gid && (st.st_mode & 07777) == MODE_GROUP)
		return 0;
	if (fchown(dir_fd, (uid_t)-1, getegid()) < 0 || fchmod(dir_fd, MODE_GROUP) < 0 ||
	    fchown(dir_fd, (uid_t)-1, g->gr_gid) < 0)
		return err_errno(e, errno, "cannot give '%s' to the group '%s'", path, group);
	return 0;
}

/* A child of a recorder that was killed holds the lock until it has ended, too. */
static int lock_folder(int dir_fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		usleep(LOCK_WAIT_US);
	}
	return -EBUSY;
}

/* Files of others could take the place of ours. */
static int check_folder(int dir_fd, const char *path, const char *group, struct err *e)
{
	struct stat st;
	if (fstat(dir_fd, &st) < 0)
		return err_errno(e, errno, "cannot use the spool '%s'", path);
	mode_t foreign = group ? S_IWOTH : S_IWOTH | S_IWGRP;
	if (st.st_uid != geteuid() || (st.st_mode & foreign)) {
		err_set(e, EPERM, "other users can write to the spool '%s'", path);
		err_hint(e, "it must belong to the user of cprof agent, with mode 0700");
		return -EPERM;
	}
	if (lock_folder(dir_fd) < 0)
		return err_set(e, EBUSY, "another cprof agent uses the spool '%s'", path);
	return 0;
}

static void read_counters(struct spool_writer *w)
{
	struct keyvalues k = { 0 };
	struct err e = { 0 };
	if (keyvalues_read(w->dir_fd, SPOOL_COUNTERS, &k, &e) < 0)
		return;
	for (size_t i = 0; i < N_COUNTERS; i++)
		*counter(&w->n, i) = keyvalues_get_u64(&k, counters[i].key);
	keyvalues_done(&k);
}

/* What is there now, and the numbers that have been used. */
static int take_stock(struct spool_writer *w, struct spool_list *l, struct err *e)
{
	int r = spool_list(w->dir_fd, l, e);
	if (r < 0)
		return r;
	w->n_files = l->entry.n;
	w->n_bytes = l->n_bytes + l->entry.n * SPOOL_META_BYTES;
	for (size_t i = 0; i < l->entry.n; i++)
		if (l->entry.v[i].name.sequence >= w->n.windows)
			w->n.windows = l->entry.v[i].name.sequence + 1;
	return 0;
}

int spool_writer_open(struct spool_writer *w, const char *path, const char *group, struct err *e)
{
	struct spool_list l = { 0 };
	mkdir(path, MODE_ALONE);
	w->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->dir_fd < 0) {
		int r = err_errno(e, errno, "cannot open the spool '%s'", path);
		err_hint(e, "create the directory above it, or choose another one: spool = FOLDER");
		return r;
	}
	int r = check_folder(w->dir_fd, path, group, e);
	if (r == 0 && group)
		r = set_group(w->dir_fd, path, group, e);
	if (r == 0) {
		read_counters(w);
		spool_writer_clean(w);
		r = take_stock(w, &l, e);
		spool_list_done(&l);
	}
	if (r < 0)
		spool_writer_close(w);
	return r;
}

void spool_writer_close(struct spool_writer *w)
{
	if (w->dir_fd >= 0)
		close(w->dir_fd);
	w->dir_fd = -1;
}

/* ---- room ---------------------------------------------------------------------------- */

static bool is_half(int dir_fd, const char *file)
{
	struct spool_name name;
	char profile[SPOOL_NAME_MAX];
	if (strncmp(file, SPOOL_TEMPORARY, strlen(SPOOL_TEMPORARY)) == 0)
		return true;
	if (!spool_name_parse(file, SPOOL_META, &name))
		return false;
	spool_name_text(&name, SPOOL_PROFILE, profile);
	return faccessat(dir_fd, profile, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

void spool_writer_clean(struct spool_writer *w)
{
	CLEANUP_CLOSE int fd = openat(w->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	if (!dir)
		return;
	fd = -1;
	while ((d = readdir(dir)))
		if (is_half(w->dir_fd, d->d_name))
			unlinkat(w->dir_fd, d->d_name, 0);
}

static bool has_room(const struct spool_writer *w, uint64_t bytes, uint64_t bytes_max,
		     uint64_t files_max)
{
	return w->n_files + 1 <= files_max && w->n_bytes + bytes <= bytes_max;
}

static int remove_old(struct spool_writer *w, const struct spool_entry *old)
{
	int r = spool_remove(w->dir_fd, &old->name);
	if (r < 0)
		return r;
	w->n_files--;
	w->n_bytes -= old->n_bytes + SPOOL_META_BYTES;
	w->n.profiles_lost++;
	w->n.bytes_lost += old->n_bytes;
	return 0;
}

static int make_room(struct spool_writer *w, uint64_t bytes)
{
	struct spool_list l = { 0 };
	struct err e = { 0 };
	if (has_room(w, bytes, w->bytes_max, w->files_max))
		return 0;
	/* The pusher may have made room already. */
	int r = take_stock(w, &l, &e);
	bool is_full = r == 0 && !has_room(w, bytes, w->bytes_max, w->files_max);
	for (size_t i = 0; is_full && i < l.entry.n && r == 0; i++) {
		if (has_room(w, bytes, w->bytes_max - w->bytes_max / SLACK,
			     w->files_max - w->files_max / SLACK))
			break;
		r = remove_old(w, &l.entry.v[i]);
	}
	spool_list_done(&l);
	if (r == 0 && !has_room(w, bytes, w->bytes_max, w->files_max))
		r = -ENOSPC;
	return r;
}

/* ---- writing ------------------------------------------------------------------------- */

static int write_file(int dir_fd, const char *name, const char *data, size_t n)
{
	CLEANUP_CLOSE int fd = openat(dir_fd, name,
				      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				      MODE_FILE);
	if (fd < 0)
		return -errno;
	while (n > 0) {
		ssize_t got = write(fd, data, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		data += got;
		n -= (size_t)got;
	}
	return fchmod(fd, MODE_FILE) < 0 ? -errno : 0;
}

/* Under a temporary name first. */
static int put_file(int dir_fd, const char *name, const char *data, size_t n)
{
	char temporary[SPOOL_NAME_MAX + sizeof(SPOOL_TEMPORARY)];
	snprintf(temporary, sizeof(temporary), SPOOL_TEMPORARY "%s", name);
	unlinkat(dir_fd, temporary, 0);
	int r = write_file(dir_fd, temporary, data, n);
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir_fd, temporary, 0);
	return r;
}

static bool is_full_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* If others have filled the disk, the oldest profiles make room, but none of this window. */
static int put_anyway(struct spool_writer *w, const char *name, const char *data, size_t n)
{
	struct spool_list l = { 0 };
	struct err e = { 0 };
	int r = put_file(w->dir_fd, name, data, n);
	if (!is_full_disk(r) || take_stock(w, &l, &e) < 0)
		return r;
	for (size_t i = 0; is_full_disk(r) && i < l.entry.n; i++) {
		if (l.entry.v[i].name.sequence >= w->n.windows)
			break;
		r = remove_old(w, &l.entry.v[i]);
		if (r == 0)
			r = put_file(w->dir_fd, name, data, n);
	}
	spool_list_done(&l);
	return r;
}

int spool_writer_add(struct spool_writer *w, const struct spool_name *name, const char *profile,
		     size_t n_profile, const char *meta, size_t n_meta)
{
	char file[SPOOL_NAME_MAX], meta_file[SPOOL_NAME_MAX];
	spool_name_text(name, SPOOL_PROFILE, file);
	spool_name_text(name, SPOOL_META, meta_file);
	int r = make_room(w, n_profile + SPOOL_META_BYTES);
	if (r == 0)
		r = put_anyway(w, meta_file, meta, n_meta);
	if (r == 0) {
		r = put_anyway(w, file, profile, n_profile);
		if (r < 0)
			unlinkat(w->dir_fd, meta_file, 0);
	}
	if (r < 0) {
		w->n.profiles_failed++;
		return r;
	}
	w->n.profiles++;
	w->n.bytes += n_profile;
	w->n_files++;
	w->n_bytes += n_profile + SPOOL_META_BYTES;
	return 0;
}

/* ---- counters ------------------------------------------------------------------------ */

/* The file of the counters before last, which needs no more space.  The pusher can write to the
 * folder, and may have put a link there.  -ENOENT: there is none. */
static int open_next(int dir_fd)
{
	struct stat st;
	CLEANUP_CLOSE int fd = openat(dir_fd, COUNTERS_NEXT,
				      O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1 ||
	    st.st_uid != geteuid())
		return -EPERM;
	return TAKE_FD(fd);
}

static int exchange_counters(int dir_fd, const char *text, size_t n)
{
	CLEANUP_CLOSE int fd = open_next(dir_fd);
	if (fd < 0)
		return fd;
	if (pwrite(fd, text, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n) < 0)
		return -EIO;
	if (renameat2(dir_fd, COUNTERS_NEXT, dir_fd, SPOOL_COUNTERS, RENAME_EXCHANGE) == 0)
		return 0;
	/* The file system cannot do it, or this is the first one. */
	return renameat(dir_fd, COUNTERS_NEXT, dir_fd, SPOOL_COUNTERS) < 0 ? -errno : 0;
}

int spool_writer_count(struct spool_writer *w)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < N_COUNTERS; i++)
		keyvalue_print_u64(to, counters[i].key, *counter(&w->n, i));
	if (fclose(to) != 0)
		return -ENOMEM;
	if (exchange_counters(w->dir_fd, text, n) == 0)
		return 0;
	int r = put_anyway(w, SPOOL_COUNTERS, text, n);
	/* On a full disk this fails. */
	if (r == 0)
		write_file(w->dir_fd, COUNTERS_NEXT, text, n);
	return r;
}

void spool_writer_begin(struct spool_writer *w)
{
	/* The last recorder was killed, and with it its present window. */
	w->n.windows += w->n.recording;
	w->n.windows_failed += w->n.recording;
	w->n.recording = 1;
	spool_writer_count(w);
}

void spool_writer_end(struct spool_writer *w)
{
	w->n.recording = 0;
	spool_writer_count(w);
}
