#ifndef CPROF_CMD_CHILDNAMES_H
#define CPROF_CMD_CHILDNAMES_H

/*
 * The names that a child process looks up when it writes a part of a recording, for the next child.
 * They are in a file in memory, so that neither process waits for the other.
 */

struct cprof_recorder;

/* Before fork(2): the file; -1: names will not be kept. */
int childnames_open(void);

/* In the child, after it has written the profile. */
void childnames_send(int fd, struct cprof_recorder *r);

/* After the child's end: adds the names, and closes the file, which may be -1. */
void childnames_take(int fd, struct cprof_recorder *r);

#endif
