#ifndef CPROF_CMD_REALTIME_H
#define CPROF_CMD_REALTIME_H

/*
 * Real-time priority for the reader of the rings.  At normal priority it starves when there are
 * more runnable threads than CPUs, and rings overflow.  It sleeps most of the time, and returns to
 * normal priority before long work (names) begins.
 */

#include <stdbool.h>

/* Does nothing if the process may not change its priority. */
void realtime_set(bool on);

#endif
