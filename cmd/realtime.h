#ifndef CPROF_CMD_REALTIME_H
#define CPROF_CMD_REALTIME_H

/*
 * The reader must not wait behind the threads that it records: at normal priority it starves when
 * there are more runnable threads than CPUs, and rings overflow.  It sleeps nearly always, and is
 * normal again when long work (names) begins.
 */

#include <stdbool.h>

/* Not being allowed to is no failure: then it stays as it is. */
void realtime_set(bool on);

#endif
