#ifndef CPROF_LABELS_POLLPIDS_H
#define CPROF_LABELS_POLLPIDS_H

/* The processes that a provider of labels reads periodically, and when it does so next. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct pollpids {                  /* all zero: empty */
	VEC(uint32_t) pid;
	uint64_t next_ns;          /* 0: at once */
};

void pollpids_done(struct pollpids *p);
void pollpids_remove(struct pollpids *p, uint32_t pid);

/* Is it time?  Then the next time is at most max_ns later. */
bool pollpids_is_due(struct pollpids *p, uint64_t now_ns, uint64_t max_ns);

/* A process wants to be read at at_ns, and maybe another one earlier, but after now_ns. */
void pollpids_wants(struct pollpids *p, uint64_t now_ns, uint64_t at_ns);

/* In ms from now; -1: never. */
int pollpids_timeout_ms(const struct pollpids *p);

#endif
