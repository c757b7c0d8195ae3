#ifndef CPROF_PROTO_OUTFILE_H
#define CPROF_PROTO_OUTFILE_H

/*
 * Output files that appear completely or not at all.  A file is written without a name, or under a
 * temporary name in the same folder, and renamed once all files of a set are complete.  There is no
 * fsync, which costs tens of milliseconds: other processes see the old file or the complete new
 * one, but after a crash of the machine a file may be lost or empty.
 *
 * Symbolic links are followed, so their target is replaced.  A device or a FIFO cannot be replaced:
 * it is written directly, and the output cannot be undone.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;

struct outfile {
	char *path;      /* the final name; NULL: a borrowed descriptor (stdout) */
	char *tmp_path;  /* NULL: written directly, or nothing to remove */
	int fd;          /* -1 when closed */
	int code;        /* the first failed write: -errno */
	bool committed;
	bool is_nameless; /* private: tmp_path does not exist yet */
	bool swapped;    /* private to commit: tmp_path is the replaced file */
};

/* Creates the temporary file.  Fails, with a hint, if the folder is missing, not a folder or
 * read-only, or if path is a folder or may not be written.  Mode 0666 & ~umask, or the mode of the
 * replaced file.  On failure there is nothing to abort. */
int outfile_open(struct outfile *f, const char *path, struct err *e);

/* Writes to a descriptor, which stays the caller's. */
void outfile_open_fd(struct outfile *f, int fd);

/* A pprof_write_fn; ctx is a struct outfile.  Continues after short writes and EINTR.  0 or -errno,
 * which sticks. */
int outfile_write(void *ctx, const void *data, size_t n_bytes);

/* The first failed write, with a message that names the file; 0 if there was none. */
int outfile_error(const struct outfile *f, struct err *e);

/* Closes and renames all n files, or none.  If one cannot be completed, the renames are undone, all
 * new files are removed, and -errno is returned with e naming the file.  (On file systems without
 * RENAME_EXCHANGE, files already replaced stay replaced.) */
int outfile_commit(struct outfile *f, size_t n, struct err *e);

/* Removes a file that was not committed; may be called at any time, even after commit. */
void outfile_abort(struct outfile *f);

#endif
