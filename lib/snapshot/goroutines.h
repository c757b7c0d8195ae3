#ifndef CPROF_SNAPSHOT_GOROUTINES_H
#define CPROF_SNAPSHOT_GOROUTINES_H

/* The goroutines of a process as entries of a snapshot. */

#include <stdbool.h>
#include <stdint.h>

#include "event/evopen.h"

struct err;
struct keepoff;
struct procs_process;
struct snapshot;

struct goroutines {
	evopen_fn *open;                /* for samples of threads that run one; NULL: none */
	struct keepoff *keepoff;        /* has begun; NULL */
	/* Results, summed over processes. */
	uint64_t n_runtime;             /* the runtime's own, which are left out */
	uint64_t n_bad_labels;          /* labels could not be read */
	char version[64];               /* of Go, of the last process: "go1.26.10" */
};

/*
 * Adds the goroutines of p to s, with the labels go::goroutine and so on (cprof-go(7)), and widens
 * the window of s.  p's mappings are known.  Its main thread may have ended.  -ENOENT: it is not a
 * Go program, without e; otherwise -errno with e: -ENOTSUP, the version of Go is unknown; -EACCES,
 * -ESRCH, -ENOMEM.
 */
int goroutines_add(struct goroutines *o, struct snapshot *s, struct procs_process *p,
		   struct err *e);

#endif
