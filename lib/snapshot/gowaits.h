#ifndef CPROF_SNAPSHOT_GOWAITS_H
#define CPROF_SNAPSHOT_GOWAITS_H

/* Where goroutines wait for each other: readings of a process's goroutines for the engine's waits
 * (engine/waits-tasks.h). */

#include <stdint.h>

struct engine;
struct err;
struct gowaits;
struct procs_process;

/* Since when the process may have had goroutines; CLOCK_MONOTONIC.  -ENOENT: it runs no Go program,
 * without e; otherwise as gotarget_open. */
int gowaits_open(struct engine *g, struct procs_process *p, uint64_t from_ns,
		 struct gowaits **ret, struct err *e);
void gowaits_close(struct gowaits *x);

/* One reading.  p is the process that was opened.  -ESRCH: it has ended, or executes another
 * program; -ENOMEM. */
int gowaits_read(struct gowaits *x, struct procs_process *p);

#endif
