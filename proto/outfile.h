#ifndef CPROF_PROTO_OUTFILE_H
#define CPROF_PROTO_OUTFILE_H

/*
 * Output files that appear completely or not at all.  A file is written without a name, or under a
 * temporary name in the same folder, and renamed once all files of a set are complete.  There is no
 * fsync, which costs tens of milliseconds: other processes see the old file or the complete new
 * one, but after a crash of the machine a file may be lost or empty.
 *
 * Symbolic links are followed, so their target is replaced.  A device or a FIFO cannot be replaced:
 * it is written directly, and the output cannot be undone.  A name of one of our own descriptors
 * (/dev/stdout, /dev/fd/63) means this descriptor.
 *
 * In a folder that others can write to (pathwalk_is_shared) nothing of another user's is trusted:
 * as if the kernel's protected_symlinks, protected_regular, protected_fifos and protected_hardlinks
 * were set, whatever their values.  There, links that belong neither to root nor to us are not
 * followed, on the whole path, and files of others, or with several hard links, are not replaced.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

struct outfile {
	char *path;      /* as the caller named it; NULL: a borrowed descriptor (stdout) */
	int fd;          /* -1 when closed */
	int code;        /* the first failed write: -errno */
	bool committed;
	/* private */
	int folder_fd;   /* O_PATH; -1: the file is written directly */
	char name[NAME_MAX + 1];
	char tmp_name[40]; /* "": nothing to remove */
	bool is_nameless;  /* tmp_name does not exist yet */
	bool is_shared;    /* others can write to the folder */
	bool swapped;      /* tmp_name is the replaced file */
	mode_t mode;       /* when it gets its name */
	bool has_mode;     /* as requested */
};

/*
 * Creates the temporary file, which only its owner can read and write until it is committed.
 * Fails, with a hint, if the folder is missing, not a folder or read-only, or if path is a folder
 * or may not be written; -EPERM for the links and files of others.  On failure there is nothing to
 * abort.
 */
int outfile_open(struct outfile *f, const char *path, struct err *e);

/* Writes to a descriptor, which stays the caller's. */
void outfile_open_fd(struct outfile *f, int fd);

/*
 * The mode of the finished file is that of our own file that it replaces, else 0666 & ~umask.
 * outfile_limit_mode clears the bits that are not in mask.  outfile_set_mode sets the mode: limits
 * and the replaced file do not count then.  Both do nothing for a file that is written directly.
 */
void outfile_limit_mode(struct outfile *f, mode_t mask);
void outfile_set_mode(struct outfile *f, mode_t mode);

/* A pprof_write_fn; ctx is a struct outfile.  Continues after short writes and EINTR.  0 or -errno,
 * which later calls return, too. */
int outfile_write(void *ctx, const void *data, size_t n_bytes);

/* The first failed write, with a message that names the file; 0 if there was none. */
int outfile_error(const struct outfile *f, struct err *e);

/* Closes and renames all n files, or none.  If one cannot be completed, the renames are undone, all
 * new files are removed, and -errno is returned with e naming the file.  (On file systems without
 * RENAME_EXCHANGE, files already replaced stay replaced.) */
int outfile_commit(struct outfile *f, size_t n, struct err *e);

/* Removes a file that was not committed; may be called at any time, even after commit. */
void outfile_abort(struct outfile *f);

/* Removes the name of an unfinished file.  Async-signal-safe. */
void outfile_unlink_unfinished(const struct outfile *f);

/* Removes a file that an earlier outfile has written at path: a regular file of ours, by the same
 * rules for the path.  0 or -errno. */
int outfile_remove(const char *path);

#endif
