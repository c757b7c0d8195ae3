#ifndef CPROF_ENGINE_REMAP_H
#define CPROF_ENGINE_REMAP_H

/* Reads the maps of living processes anew when records of them may have been lost. */

#include <stdbool.h>
#include <stdint.h>

#include "source/synth.h"

struct procs;
struct procs_process;
struct record;

/* A process is read at most once within that time. */
#define REMAP_EVERY_NS 100000000u

struct remap {
	const struct host *host;        /* borrowed; NULL: a replay, nothing is read */
	uint32_t n_losses;              /* LOST records of rings so far */
	uint64_t n_reads;
	bool is_lazy;                   /* most processes were not read: see remap_note */
};

/*
 * For a sample of process p: if records were lost since p's maps were last read, gives records of
 * them as they are now to sink, as synth_process does.  Returns whether it did.
 */
bool remap_process(struct remap *m, struct procs_process *p, uint64_t time_ns,
		   synth_sink_fn *sink, void *ctx);

/* Takes note of a FORK or COMM that procs_feed has taken: of what exec'ed, and of what was forked
 * by a process that was read, the records have told all that is to know. */
void remap_note(const struct remap *m, struct procs *procs, const struct record *r);

#endif
