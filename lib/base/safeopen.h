#ifndef CPROF_BASE_SAFEOPEN_H
#define CPROF_BASE_SAFEOPEN_H

/*
 * Opens for reading a regular file whose name or links somebody else may have chosen: a
 * program that is recorded, a profile, another user.  The file is first looked at (O_PATH), and
 * what was looked at is then opened: no device, FIFO or socket is ever opened, and nothing can be
 * exchanged in between.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct err;
struct safeopen_waits;

#define SAFEOPEN_NO_USER ((uid_t)-1)

enum safeopen_files {
	SAFEOPEN_ANY,              /* that we can open */
	/* Owned by root, by us (effective id) or by rule.user. */
	SAFEOPEN_OWNED,
	/*
	 * Files whose contents may be shown to the caller, the user with our real ids:
	 *  - The caller may read the file, without our privileges.
	 *  - If it is not world-readable and has several hard links, no other user can write to
	 *    its folder.
	 *  - If the caller is root: it is world-readable (with all folders on the path), or it
	 *    belongs to rule.user, or it belongs to root and the path has only folders and links
	 *    that belong to root, and folders that nobody else can write to.
	 */
	SAFEOPEN_SHOWN,
};

struct safeopen_rule {
	enum safeopen_files files;
	/* Links on the path are followed if they belong to root, to us (effective and real id), or
	 * to this user.  With SAFEOPEN_SHOWN it counts only if the caller is root. */
	uid_t user;
	int root_fd;               /* what "/" means, and what ".." and links cannot leave, or -1 */
	uint64_t n_bytes_max;      /* larger files are refused; 0: no limit */
	/* Where a path leads to a file system that may wait for a server or a daemon, a helper
	 * process with a deadline opens the file, and copies it (helper.h).  NULL: just wait. */
	struct safeopen_waits *waits;
};

struct safeopen_waits *safeopen_waits_new(void);  /* NULL: no memory */
void safeopen_waits_free(struct safeopen_waits *w);

struct safeopen_file {
	struct stat st;            /* before it was opened: use this size from then on.  With
				    * rule.waits the descriptor may be that of a copy. */
	char name[NAME_MAX + 1];   /* its own name, after all links */
	bool is_public;            /* with SAFEOPEN_SHOWN: it is world-readable */
};

/*
 * Opens the file at path.  ret may be NULL.  Returns a descriptor (O_CLOEXEC), or
 *  -EINVAL: it is not a regular file
 *  -EFBIG:  it is larger than n_bytes_max, or too large for a copy
 *  -ETIMEDOUT: its file system did not answer in time, now or before
 *  -EPERM:  a link or the file belongs to somebody whom the rule does not name
 *  or -errno of opening it.
 * e, which may be NULL, says why, beginning with the path in quotes.
 */
int safeopen_file(const char *path, const struct safeopen_rule *rule, struct safeopen_file *ret,
		  struct err *e);

#endif
