#ifndef CPROF_CMD_NOFILE_H
#define CPROF_CMD_NOFILE_H

/*
 * The limit on open files.  The usual soft limit (1024) suits programs that call select(2); cprof
 * needs a descriptor for each file of its targets and for each event.
 */

/* Raises the soft limit to the hard one. */
void nofile_raise(void);

/* Sets the limit that cprof was started with: for a program that inherits it. */
void nofile_restore(void);

#endif
