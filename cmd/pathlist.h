#ifndef CPROF_CMD_PATHLIST_H
#define CPROF_CMD_PATHLIST_H

/* Lists of paths in a file, for more of them than a command line holds. */

#include "base/vec.h"

struct err;

struct pathlist {
	VEC(const char *) path;        /* in `text`, or borrowed */
	VEC(char) text;
};

/*
 * Appends the paths in a file, "-" for stdin: one a line, or separated by NULs if there is one in
 * the file (find -print0).  Empty ones are left out.  Call it once.  -errno with e set;
 * -E2BIG: more than 1 GiB.
 */
int pathlist_read(struct pathlist *l, const char *from, struct err *e);

void pathlist_done(struct pathlist *l);

#endif
