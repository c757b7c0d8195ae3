#ifndef CPROF_SOURCE_LIVE_LIVEBIRTH_H
#define CPROF_SOURCE_LIVE_LIVEBIRTH_H

/* Threads and processes whose creation had begun when events were opened on their creators. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct live;
struct live_id;
struct record;

struct livebirth_child {
	uint32_t pid, tid;
};

struct livebirth {
	uint64_t since_ns;                   /* when events were last opened; 0: never looked for */
	VEC(struct livebirth_child) next;    /* to be opened */
	VEC(uint32_t) opened;                /* threads that may have inherited other events */
	bool is_refused;                     /* it was reported that one could not be opened */
};

/* The events that were opened on threads are enabled. */
void livebirth_begin(struct live *l);
/* Others have taken their place. */
void livebirth_renew(struct live *l);
void livebirth_done(struct live *l);

/* A FORK record; id: of its event, or NULL. */
void livebirth_note(struct live *l, struct live_id *id, const struct record *r);

/* Is there something noted whose events are not open? */
bool livebirth_is_waiting(const struct live *l);

/* Opens events on what was noted.  In how many ms to call it again; -1: there is nothing to do. */
int livebirth_step(struct live *l, uint64_t now_ns);

#endif
