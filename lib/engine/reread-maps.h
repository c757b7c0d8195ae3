#ifndef CPROF_ENGINE_REREAD_MAPS_H
#define CPROF_ENGINE_REREAD_MAPS_H

/* Reads the maps of living processes again when records of them may have been lost. */

#include <stdbool.h>
#include <stdint.h>

#include "source/synth.h"

struct procs;
struct procs_process;
struct record;

/* A process is read at most once in this time. */
#define REREAD_MAPS_EVERY_NS 100000000u

struct reread_maps {
	const struct host *host;        /* borrowed; NULL: a replay, nothing is read */
	uint32_t n_losses;              /* LOST records of rings so far */
	uint64_t n_reads;
	bool is_lazy;                   /* most processes were not read: see reread_maps_note */
};

/*
 * For a sample of process p: if records were lost since p's maps were last read, passes records of
 * its present maps to sink, like synth_process.  Returns whether it did.
 */
bool reread_maps_process(struct reread_maps *m, struct procs_process *p, uint64_t time_ns,
		   synth_sink_fn *sink, void *ctx);

/* Notes a FORK or COMM that procs_feed has processed.  After an exec, or a fork by a process that
 * was read, records have described the process completely. */
void reread_maps_note(const struct reread_maps *m, struct procs *procs, const struct record *r);

#endif
