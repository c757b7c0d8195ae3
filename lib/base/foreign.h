#ifndef CPROF_BASE_FOREIGN_H
#define CPROF_BASE_FOREIGN_H

/*
 * Opens files that somebody else has named: a target, a container, a recording or a profile.
 *
 * - Only regular files of a file system that stores them are opened.  Opening has no side effect:
 *   no FIFO loses its writer, no device and no file of /proc is touched.
 * - Nothing blocks for long.  A file whose file system may wait for a server or a daemon (FUSE,
 *   NFS) is opened and read by a helper process with a deadline, and its contents are
 *   copied into memory.
 *
 * Who owns the file does not matter here: its contents are only parsed.  What is shown to people
 * is opened by safeopen.h.
 */

#include <stdint.h>

struct foreign;
struct stat;

enum {
	FOREIGN_IN_ROOT = 1,      /* the folder is the root of all links (Linux 5.6) */
	FOREIGN_NO_FOLLOW = 2,    /* -ELOOP if the last part of the path is a symbolic link */
	FOREIGN_MAGIC_LINKS = 4,  /* follow links such as /proc/PID/exe */
	FOREIGN_NO_COPY = 8,      /* the file grows: a copy would be of no use */
};

struct foreign_want {
	int dir_fd;               /* the path is relative to it */
	const char *path;
	unsigned flags;
	uint32_t pid;             /* a process whose mounts hold the file; 0: only our own ones */
};

/* One for a recording, so that not every file of a dead server costs time.  NULL: no memory. */
struct foreign *foreign_new(void);
void foreign_free(struct foreign *f);

/*
 * Opens a file for reading with O_NONBLOCK.  f may be NULL.  *ret is the fstat of the file itself
 * (a copy has another inode); may be NULL.  Returns a descriptor or -errno, among them:
 * -ENXIO      not a regular file, or one that is not stored anywhere (as those of /proc)
 * -ETIMEDOUT  its file system did not answer in time, now or before
 * -EFBIG      it would have to be copied and is too large
 * -EREMOTE    FOREIGN_NO_COPY, but it would have to be copied
 */
int foreign_open(struct foreign *f, const struct foreign_want *want, struct stat *ret);

/* The same for a file that is open with O_PATH; want->dir_fd and path are not used. */
int foreign_open_path(struct foreign *f, const struct foreign_want *want, int path_fd,
		      struct stat *ret);

/* Opens a folder with O_PATH, if neither the walk nor the folder needs an answer from elsewhere;
 * -EREMOTE otherwise.  Names in it can be looked up without waiting, but one of them may be a mount
 * of its own. */
int foreign_open_folder(struct foreign *f, const struct foreign_want *want);

/*
 * Can a folder of our own, such as a cache, be used without waiting for a server or a daemon?  0
 * also if neither the folder nor one above it exists.  -EREMOTE: it cannot, as in a home directory
 * on NFS; no answer now would mean that there is one a moment later.
 */
int foreign_check_folder(struct foreign *f, const char *path);

/* Device and inode of a name, without asking its file system; links are not followed unless flags
 * have FOREIGN_MAGIC_LINKS.  0 or -errno. */
int foreign_identify(const struct foreign_want *want, uint64_t *ret_device, uint64_t *ret_inode);

/* Is that the result for a file that exists, but was given up to keep its file system from
 * stopping cprof? */
int foreign_is_lost(int result);

/* Is that the result for a file that may exist, but could not be opened because this process or the
 * system has no free descriptor? */
int foreign_lacks_descriptor(int result);

#endif
