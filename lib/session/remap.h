#ifndef CPROF_SESSION_REMAP_H
#define CPROF_SESSION_REMAP_H

/* Reads the maps of living processes anew when records of them may have been lost. */

#include <stdbool.h>
#include <stdint.h>

#include "source/synth.h"

struct procs_process;

/* A process is read at most once within that time. */
#define REMAP_EVERY_NS 100000000u

struct remap {
	const struct host *host;        /* borrowed; NULL: a replay, nothing is read */
	uint32_t n_losses;              /* LOST records of rings so far */
	uint64_t n_reads;
};

/*
 * For a sample of process p: if records were lost since p's maps were last read, gives records of
 * them as they are now to sink, as synth_process does.  Returns whether it did.
 */
bool remap_process(struct remap *m, struct procs_process *p, uint64_t time_ns,
		   synth_sink_fn *sink, void *ctx);

#endif
