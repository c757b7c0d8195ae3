#ifndef CPROF_PROC_OWNERS_H
#define CPROF_PROC_OWNERS_H

/* Whether samples belong to processes of other users than the caller.  A profile of them is for
 * its owner only. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/procs.h"

struct host;

struct owners {
	const struct host *host;       /* NULL: a replay; all processes count as the caller's */
	uid_t uid;                     /* the caller's real one */
	bool unknown_is_own;           /* all targets descend from a command of the caller's */
	bool any_other;                /* a sample of another user's process was noted */
};

void owners_init(struct owners *o, const struct host *host);

/* Reads the user of p from /proc/PID/status, into p->owner. */
void owners_read(struct owners *o, struct procs_process *p);

/* Notes a sample of p: reads its user at the first one after each exec. */
static inline void owners_note(struct owners *o, struct procs_process *p)
{
	if (p->owner == PROCS_OWNER_UNREAD)
		owners_read(o, p);
	o->any_other |= p->owner == PROCS_OWNER_OTHER;
}

/* Reads the users of all noted processes again: a process may change its user while it runs. */
void owners_check(struct owners *o, const struct procs *p);

#endif
