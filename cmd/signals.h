#ifndef CPROF_CMD_SIGNALS_H
#define CPROF_CMD_SIGNALS_H

/*
 * The signals of a recording.  SIGINT, SIGTERM, SIGHUP and SIGCHLD arrive through a
 * descriptor while it runs.  Once the profile is being written, a further SIGINT, SIGTERM
 * or SIGHUP removes the unfinished files and ends the program at once.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

struct signals {
	int fd;           /* signalfd(2) */
	sigset_t before;  /* the mask that a child shall have */
};

/* extra: a further signal that arrives so; 0: none. */
int signals_open(struct signals *s, int extra, struct err *e);
void signals_close(struct signals *s);

/* Takes one signal that waits: its number, 0 when there is none.  *ret_from_terminal: the
 * whole foreground group got it. */
int signals_next(struct signals *s, bool *ret_from_terminal);

/* From now on a signal ends the program, after removing these files (borrowed). */
void signals_abort_on(char *const *unfinished, size_t n);

/* Lets SIGINT, SIGTERM and SIGHUP wait again, while files get their names. */
void signals_hold(void);

#endif
