#ifndef CPROF_BASE_HOST_H
#define CPROF_BASE_HOST_H

/*
 * The machine as three folders, so a test can substitute a fixture tree.  Paths are relative to one
 * of the folders and have no leading slash.
 */

#include <stddef.h>
#include <stdint.h>

struct err;
struct foreign;
struct remotemem;

enum host_dir { HOST_ROOT, HOST_PROC, HOST_SYS, HOST_N_DIRS };

struct host {
	int fd[HOST_N_DIRS];                /* O_PATH folders */
	char path[HOST_N_DIRS][256];        /* their names, for messages and libelf */
	struct foreign *foreign;            /* for foreign_open; NULL: out of memory */
	struct remotemem *memory;           /* of other processes; NULL: out of memory */
};

/* Opens the folders; NULL means "/", "/proc", "/sys".  /sys may be missing: its fd is -1 then, and
 * every read returns -ENOENT. */
int host_open(struct host *h, const char *root, const char *proc, const char *sys,
	      struct err *e);
void host_close(struct host *h);

/* The folder of a cache, or NULL if it is on NFS, FUSE or the like (foreign_check_folder).  dir
 * may be NULL. */
const char *host_cache_dir(const struct host *h, const char *dir);

/* Opens a file in one of the folders; a descriptor (O_CLOEXEC) or -errno. */
int host_open_file(const struct host *h, enum host_dir dir, int flags, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads a whole file of unknown size (as in /proc) and appends a NUL.  The caller frees *ret_text;
 * ret_n may be NULL.  0 or -errno. */
int host_read_file(const struct host *h, enum host_dir dir, char **ret_text, size_t *ret_n,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * The same for /proc/PID/NAME of a process, or one of its threads, that may be hostile: it may keep
 * readers waiting (remotemem.h says which files and links that concerns).  -ETIMEDOUT: it did.
 */
int host_read_process_file(const struct host *h, uint32_t pid, const char *name, char **ret_text,
			   size_t *ret_n);

/* Its first n_bytes - 1 bytes, and a NUL.  Their number or -errno. */
long host_read_process_line(const struct host *h, uint32_t pid, const char *name, char *text,
			    size_t n_bytes);

/* The text of a link, in the same way. */
long host_read_process_link(const struct host *h, uint32_t pid, const char *name, char *text,
			    size_t n_bytes);

/* Opens what a link leads to, with O_PATH.  A descriptor or -errno. */
int host_open_process_link(const struct host *h, uint32_t pid, const char *name);

/* Reads a decimal integer from a one-line file; -errno, or -EINVAL if it is not a number. */
int host_read_long(const struct host *h, enum host_dir dir, long *ret_value,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * The id whose folder in /proc shows the memory, maps, root folder and files of process pid.  That
 * is pid itself unless its main thread has ended: then /proc/PID is a zombie's and empty, and the
 * result is a thread that still runs (/proc/TID exists for each thread but is not listed).  Without
 * such a thread the result is pid.
 */
uint32_t host_live_thread(const struct host *h, uint32_t pid);

/* The id that a thread of process pid has in its own pid namespace (/proc/PID/task/TID/status,
 * "NSpid:", Linux 4.1).  0: the file cannot be read. */
uint32_t host_own_tid(const struct host *h, uint32_t pid, uint32_t tid);

/* Both for a process, and its effective user, from one file if its main thread lives. */
struct host_live {
	uint32_t tid, own_tid;          /* as above */
	uint32_t uid;                   /* UINT32_MAX: unknown, or its main thread has ended */
};
void host_find_live(const struct host *h, uint32_t pid, struct host_live *ret);

#endif
