#ifndef CPROF_BASE_HOST_H
#define CPROF_BASE_HOST_H

/*
 * The machine as a set of folders, so that a test can hand in a fixture tree.
 * Paths are given without a leading slash, relative to the named folder.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

enum host_dir { HOST_ROOT, HOST_PROC, HOST_SYS, HOST_N_DIRS };

struct host {
	int fd[HOST_N_DIRS];                /* O_PATH folders */
	char path[HOST_N_DIRS][256];        /* their names, for messages and for libelf */
};

/* Opens the folders; NULL means "/", "/proc", "/sys".  A missing /sys is allowed
 * (fd -1: every read there gives -ENOENT). */
int host_open(struct host *h, const char *root, const char *proc, const char *sys,
	      struct err *e);
void host_close(struct host *h);

/* openat in one of the folders; a descriptor (O_CLOEXEC) or -errno. */
int host_open_file(const struct host *h, enum host_dir dir, int flags, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a whole file of unknown size (as in /proc) into fresh memory, with a NUL
 * behind it.  The caller frees *ret_text.  Returns 0 or -errno; ret_n may be NULL. */
int host_read_file(const struct host *h, enum host_dir dir, char **ret_text, size_t *ret_n,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Reads a decimal integer from a one-line file; -errno, or -EINVAL when it holds none. */
int host_read_long(const struct host *h, enum host_dir dir, long *ret_value,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * The id below which /proc shows the memory, the maps, the root folder and the files of process
 * pid: pid itself, or, when its main thread has ended and others run on, that of one of these.
 * (/proc/PID of such a process is a zombie's, with nothing in it; /proc/TID is there for each
 * thread, though not listed.)  It is pid also when no thread lives any more.
 */
uint32_t host_live_thread(const struct host *h, uint32_t pid);

#endif
