#ifndef CPROF_SNAPSHOT_GOTARGET_H
#define CPROF_SNAPSHOT_GOTARGET_H

/* The Go program that a process runs: its file, and access to its memory. */

#include <stdint.h>

#include "symbolize/runtime/go-places.h"
#include "symbolize/runtime/go-program.h"
#include "symbolize/runtime/runtime-memory.h"

struct cfi;
struct dso;
struct engine;
struct err;
struct go_table;
struct host;
struct procs_process;

struct gotarget {
	const struct dso *dso;
	struct cfi *cfi;
	struct go_table *table;
	struct engine *engine;          /* borrowed */
	const struct host *host;
	uint32_t pid, tid;              /* a living thread of the process */
	int code;                       /* why nothing could be read, -errno; 0: something was */
	struct runtime_memory memory;   /* of the process */
	struct go_places places;
	struct go_program go;
};

/* *ret must stay where it is until it is closed, which it must be in any case.  -ENOENT: it is not
 * a Go program, without e; otherwise -errno with e: -ENOTSUP, the version of Go is unknown
 * (ret->go.version); -EACCES, -ESRCH, -ETIMEDOUT. */
int gotarget_open(struct gotarget *ret, struct engine *g, const struct procs_process *p,
		  struct err *e);
void gotarget_close(struct gotarget *x);

#endif
