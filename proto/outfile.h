#ifndef CPROF_PROTO_OUTFILE_H
#define CPROF_PROTO_OUTFILE_H

/*
 * Output files that appear whole or not at all: written without a name, or under a temporary one
 * in the same folder, and renamed when all of a set are complete. There is no fsync, which costs
 * tens of milliseconds: another process sees the old file or the whole new one, but after a
 * crash of the machine a file may be lost or empty.
 *
 * A symbolic link is followed, so that what it names is replaced.  A device or a FIFO cannot be
 * replaced: it is written directly, and nothing can be taken back.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct outfile {
	char *path;      /* the final name; NULL: a descriptor that is not ours (stdout) */
	char *tmp_path;  /* NULL: written directly, or nothing left to remove */
	int fd;          /* -1 when closed */
	int code;        /* the first failed write: -errno */
	bool committed;
	bool is_nameless; /* private: the file will have the name tmp_path */
	bool swapped;    /* private to commit: tmp_path holds the file that was replaced */
};

/* Creates the temporary file; fails, with a hint, when the folder is missing, not a folder,
 * read-only, or path is a folder or a file that may not be written.  Mode 0666 & ~umask, or the
 * mode of the file that is replaced.  On failure there is nothing to abort. */
int outfile_open(struct outfile *f, const char *path, struct err *e);

/* An outfile over a descriptor that stays the caller's. */
void outfile_open_fd(struct outfile *f, int fd);

/* A pprof_write_fn: ctx is a struct outfile.  Retries short writes and EINTR.  0 or -errno,
 * which sticks. */
int outfile_write(void *ctx, const void *data, size_t n_bytes);

/* The first failed write, as a message that names the file; 0 when there was none. */
int outfile_error(const struct outfile *f, struct err *e);

/* Closes and renames all n files, or none: when one cannot be completed, those that were renamed
 * are taken back, all are removed, and -errno is returned with e naming the file.  (On file
 * systems without an exchanging rename, a file that was replaced before stays replaced.) */
int outfile_commit(struct outfile *f, size_t n, struct err *e);

/* Removes what was not committed; may be called at any time, also after commit. */
void outfile_abort(struct outfile *f);

#endif
