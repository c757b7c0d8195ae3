#ifndef CPROF_SNAPSHOT_GOTARGET_H
#define CPROF_SNAPSHOT_GOTARGET_H

/* The Go program that a process runs, and where its goroutines are. */

#include <stdint.h>

#include "proc/goprocess.h"
#include "symbolize/runtime/go-program.h"

struct engine;
struct err;
struct procs_process;

struct gotarget {
	struct goprocess process;
	struct engine *engine;          /* borrowed */
	uint32_t pid;
	struct go_program go;
};

/* *ret must stay where it is until it is closed, which it must be in any case.  -ENOENT: it is not
 * a Go program, without e; otherwise -errno with e: -ENOTSUP, the version of Go is unknown
 * (ret->go.version); -EACCES, -ESRCH, -ETIMEDOUT. */
int gotarget_open(struct gotarget *ret, struct engine *g, const struct procs_process *p,
		  struct err *e);
void gotarget_close(struct gotarget *x);

#endif
