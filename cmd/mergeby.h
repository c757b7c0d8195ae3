#ifndef CPROF_CMD_MERGEBY_H
#define CPROF_CMD_MERGEBY_H

/* One profile for each value of a label. */

struct err;
struct filemode;
struct model;

#define MERGEBY_FILES_MAX 4096u

/*
 * Writes FOLDER/VALUE.pb.gz for each value of the label, and prints "VALUE<tab>PATH" on stdout.
 * The folder is made if it is missing.  In names of files, characters other than letters, digits
 * and "._+-" are "_", and a number distinguishes equal ones.  Each file appears complete or not at
 * all.
 * -ENOENT: no sample has the label; -E2BIG: it has more than MERGEBY_FILES_MAX values.
 */
int mergeby_write(const struct model *m, const char *label, const char *folder,
		  const struct filemode *mode, int level, struct err *e);

#endif
