#ifndef CPROF_CMD_REPORT_OPENBROWSER_H
#define CPROF_CMD_REPORT_OPENBROWSER_H

/* The user's browser, opened at an address that no other user may read from its arguments. */

#include <signal.h>
#include <sys/types.h>

struct openbrowser {
	char path[128];            /* the file that leads to the address; "": none */
	pid_t pid;                 /* what opens the browser; 0: none, or it has ended */
};

/* Starts $BROWSER or xdg-open with the signal mask `mask`.  Returns NULL, or why not; static. */
const char *openbrowser_start(struct openbrowser *b, const char *address, const sigset_t *mask);

/* Reaps what has ended. */
void openbrowser_reap(struct openbrowser *b);

/* The browser has read the file, or never will. */
void openbrowser_done(struct openbrowser *b);

#endif
