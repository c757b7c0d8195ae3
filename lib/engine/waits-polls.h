#ifndef CPROF_ENGINE_WAITS_POLLS_H
#define CPROF_ENGINE_WAITS_POLLS_H

/* Times of threads by polling /proc, where no records of switches can be had. */

#include "engine/waits-thread.h"

struct waits;

/* A thread has run since it was polled last, or is polled for the first time.  Threads that have
 * not run need no poll; if there is one, it corrects the place of their wait. */
void waits_polls_add(struct waits *w, const struct waits_look *poll);

#endif
