#ifndef CPROF_PROTO_OUTFILE_H
#define CPROF_PROTO_OUTFILE_H

/*
 * Output files that appear whole or not at all: written under a temporary name in the same folder,
 * synced and renamed when all of a set are complete.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct outfile {
	char *path;      /* the final name; NULL: a descriptor that is not ours (stdout) */
	char *tmp_path;
	int fd;
	bool committed;
};

/* Creates the temporary file; fails, with a hint, when the folder is missing, not a folder,
 * read-only, or path is a folder.  Mode 0666 & ~umask, or the mode of the file that is replaced. */
int outfile_open(struct outfile *f, const char *path, struct err *e);

/* An outfile over a descriptor that stays the caller's. */
void outfile_open_fd(struct outfile *f, int fd);

/* A pprof_write_fn: ctx is a struct outfile.  Retries short writes and EINTR. */
int outfile_write(void *ctx, const void *data, size_t n_bytes);

/* Closes and renames all n files, or none: when one cannot be completed, those not yet
 * renamed are removed and -errno is returned with e set. */
int outfile_commit(struct outfile *f, size_t n, struct err *e);

/* Removes what was not committed; may be called at any time, also after commit. */
void outfile_abort(struct outfile *f);

#endif
