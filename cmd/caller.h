#ifndef CPROF_CMD_CALLER_H
#define CPROF_CMD_CALLER_H

/*
 * The user who started cprof, when the program's file gives more rights than this user has: it has
 * file capabilities, or it is set-user-ID or set-group-ID.  cprof(1) describes the rules.
 */

#include <stdbool.h>

struct err;

#define CALLER_SETTINGS "/etc/cprof.conf"

/*
 * The first step of main().  For a start with additional rights:
 *  - The ids are the caller's own from then on.
 *  - Of the capabilities only those useful for recording are kept, and they are not effective
 *    (base/rights.h).
 *  - The environment holds only harmless variables.
 * Returns 0, or -errno: the program must end.
 */
int caller_start(struct err *e);

/*
 * The second step: keeps the additional rights for a command that can use them if a group of the
 * caller is allowed in CALLER_SETTINGS, and otherwise gives them up for good.  Returns 0 or -errno
 * as above.
 */
int caller_settle(bool is_recording, struct err *e);

/* In a child that is about to run a program: gives up all additional rights and restores the
 * caller's environment and limit on open files. */
void caller_leave(void);

/* The remedy for a refusal by the kernel if the rights of the file were given up; or NULL. */
const char *caller_remedy(void);

#endif
