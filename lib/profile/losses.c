/*
 * The table of losses.  A row names the place of its counter, so no code between counting and
 * printing needs to know it: a new loss takes a counter and a row.
 */
#include "profile/losses.h"

#include "cprof-import.h"
#include "cprof.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "engine/engine.h"
#include "profile/names.h"
#include "source/source.h"

#include <assert.h>
#include <string.h>

enum object { CALLER, ENGINE, SOURCE, NAMES, STATS, IMPORT, MEMORY, EVENT };

struct row {
	struct cprof_loss loss;
	enum object object;
	size_t offset, n_bytes;
};

#define COUNTER(object, type, field) \
	object, offsetof(struct type, field), sizeof(((struct type *)NULL)->field)
#define IN_ENGINE(field) COUNTER(ENGINE, engine, field)
#define IN_SOURCE(field) COUNTER(SOURCE, source, losses.field)
#define IN_NAMES(field) COUNTER(NAMES, names, files.field)
#define IN_STATS(field) COUNTER(STATS, cprof_stats, field)
#define IN_IMPORT(field) COUNTER(IMPORT, cprof_import_stats, field)
#define IN_MEMORY(field) COUNTER(MEMORY, remotemem_stats, field)
#define IN_EVENT(field) COUNTER(EVENT, cprof_event_stats, field)

#define ABSENT CPROF_LOSS_ABSENT
#define VERBOSE CPROF_LOSS_VERBOSE
#define MANY CPROF_LOSS_MANY
#define SHOWN CPROF_LOSS_SHOWN
#define STRICT CPROF_LOSS_STRICT

/* Key, words, advice, advice for recordings; level in the summaries of record and of import, in
 * comments; counter. */
static const struct row table[] = {
	{ { "lost", "samples lost: the ring was full", NULL, "--ring-size, lower -F",
	    STRICT, SHOWN, true }, IN_EVENT(n_lost_target) },
	{ { "lost_shown", "of the lost samples shown as [lost samples]", NULL, NULL,
	    ABSENT, ABSENT, true }, IN_EVENT(n_lost_shown) },
	{ { "lost_max", "samples lost at most, as other tasks lost some, too: the number is an "
	    "estimate", NULL, "--ring-size, --scope cgroup or task",
	    SHOWN, ABSENT, true }, IN_EVENT(n_lost_max) },
	{ { "lost_all", "samples lost of all tasks of these CPUs", NULL, NULL,
	    VERBOSE, ABSENT, true }, IN_EVENT(n_lost_all) },
	{ { "lost_by_pmu", "of them lost in the PMU's own buffer", NULL, NULL,
	    VERBOSE, ABSENT, true }, IN_EVENT(n_lost_by_pmu) },
	{ { "throttled", "times throttled by the kernel: the rate was too high", NULL,
	    "lower -F, --adaptive",
	    STRICT, SHOWN, true }, IN_EVENT(n_throttles) },
	{ { "silent", "events never happened: no file was written", NULL, NULL,
	    STRICT, ABSENT, false }, CALLER },
	{ { "truncated", "stacks truncated: deeper than the stack copy or the kernel's limit",
	    NULL, "--call-graph dwarf,SIZE, --max-depth, kernel.perf_event_max_stack",
	    STRICT, SHOWN, true }, IN_ENGINE(walk.stats.n_truncated) },
	{ { "cut", "stacks ended before the root", "-v shows where", NULL,
	    MANY, MANY, true }, IN_ENGINE(walk.stats.n_cut) },
	{ { "not_unwound", "samples of 32-bit code, which is not unwound", NULL, NULL,
	    STRICT, SHOWN, true }, IN_ENGINE(walk.user.n_unsupported) },
	{ { "unknown_pc", "samples at an address outside of all mappings", NULL, NULL,
	    MANY, VERBOSE, true }, IN_ENGINE(walk.stats.n_unknown) },
	{ { "shortened", "stacks without the innermost frames: memory limit", "--max-memory",
	    NULL,
	    STRICT, SHOWN, true }, IN_ENGINE(walk.stats.n_shortened) },
	{ { "dropped", "samples without a stack: memory limit", "--max-memory", NULL,
	    STRICT, SHOWN, true }, IN_ENGINE(walk.stats.n_dropped) },
	{ { "labels_dropped", "samples without some label: memory limit", "--max-memory", NULL,
	    STRICT, SHOWN, true }, IN_ENGINE(own_labels.n_dropped) },
	{ { "labels_unknown", "samples without the labels that the program set: changed faster "
	    "than they were read, or shortly before its end", NULL, NULL,
	    MANY, ABSENT, true }, IN_ENGINE(app.stats.n_unknown) },
	{ { "labels_other", "sets of the program's labels with a value shown as [other]: more "
	    "than 1000 of one key", NULL, NULL,
	    VERBOSE, ABSENT, true }, IN_ENGINE(app.stats.n_other) },
	{ { "labels_denied", "processes whose labels may not be read", NULL,
	    "start them with cprof record, or grant CAP_SYS_PTRACE: see cprof doctor",
	    SHOWN, ABSENT, true }, IN_ENGINE(app.stats.n_denied) },
	{ { "args_unknown", "samples of probes without the value or a label: the argument was "
	    "not in registers or the copy of the stack", NULL, NULL,
	    STRICT, ABSENT, true }, IN_ENGINE(n_args_unknown) },
	{ { "memory_unanswered", "processes whose memory did not answer in time (FUSE, "
	    "userfaultfd): labels and parts of stacks are missing", "-v shows which", NULL,
	    STRICT, ABSENT, true }, IN_MEMORY(n_stuck) },
	{ { "undecodable", "records that could not be decoded", NULL, NULL,
	    STRICT, SHOWN, true }, IN_SOURCE(n_undecodable) },
	{ { "foreign_ids", "records of an event that the file does not describe", NULL, NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_foreign_ids) },
	{ { "guests", "samples in virtual machines, whose code is not known", NULL, NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_guests) },
	{ { "aux_bytes", "bytes of hardware trace (AUX) skipped: cprof does not decode them", NULL,
	    NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_aux_bytes) },
	{ { "tracing_bytes", "bytes of tracepoint formats, of which the scheduler's are used", NULL,
	    NULL,
	    ABSENT, VERBOSE, false }, IN_IMPORT(n_tracing_bytes) },
	{ { "out_of_order", "records out of order: older than the previous one", NULL, NULL,
	    VERBOSE, VERBOSE, true }, IN_SOURCE(n_out_of_order) },
	{ { "skipped_records", "records of no use for a profile", NULL, NULL,
	    ABSENT, VERBOSE, false }, IN_IMPORT(n_other_records) },
	{ { "cpus_failed", "CPUs that could not be recorded", NULL, NULL,
	    STRICT, ABSENT, true }, IN_STATS(n_cpus_failed) },
	{ { "huge_pages", "faults that gave programs of this machine a huge page: each counts as "
	    "one small page", NULL, NULL,
	    SHOWN, ABSENT, true }, IN_STATS(n_huge_pages) },
	{ { "allocs_lost", "samples of allocations lost: the ring was full", NULL,
	    "a larger -c", STRICT, ABSENT, true }, IN_STATS(n_allocs_lost) },
	{ { "frees_lost", "samples of freed blocks lost: what is in use is an upper bound", NULL,
	    "a larger -c", STRICT, ABSENT, true }, IN_STATS(n_frees_lost) },
	{ { "allocs_untracked", "blocks whose end is not known: what is in use lacks them",
	    NULL, "a larger -c", STRICT, ABSENT, true }, IN_STATS(n_allocs_untracked) },
	{ { "held_halvings", "times half of the blocks in use were dropped: there were too many",
	    NULL, "a larger -c",
	    SHOWN, ABSENT, true }, IN_STATS(n_held_halvings) },
	{ { "rings_bad", "processes that wrote something else into the memory for samples", NULL,
	    NULL, STRICT, ABSENT, true }, IN_STATS(n_rings_bad) },
	{ { "unknown_records", "records of an unknown type", NULL, NULL,
	    VERBOSE, ABSENT, false }, IN_SOURCE(n_unknown) },
	{ { "unknown_records", "records of an unknown type", NULL, NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_unknown_records) },
	{ { "newer_attrs", "events with unknown fields: recorded by a newer kernel's perf", NULL,
	    NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_newer_attrs) },
	{ { "unknown_sections", "unknown header sections skipped", NULL, NULL,
	    ABSENT, SHOWN, false }, IN_IMPORT(n_unknown_features) },
	{ { "unrecorded", "programs not recorded: the kernel lets no user record what is "
	    "set-user-ID, has capabilities or may not be read", NULL,
	    "--scope cpu (CAP_PERFMON or root)",
	    STRICT, VERBOSE, true }, IN_ENGINE(procs.n_removed) },
	{ { "unassigned", "samples of an unknown event: another recorder has opened the same "
	    "software events", NULL, "record one software event at a time",
	    STRICT, ABSENT, true }, IN_SOURCE(n_unassigned) },
	{ { "symbol_timeouts", "files whose debug information took too long to read",
	    "--symbol-timeout", NULL,
	    SHOWN, SHOWN, false }, IN_NAMES(n_timeouts) },
	{ { "debug_misfits", "files whose debug file belongs to another file: not used",
	    "-v shows why", NULL,
	    SHOWN, SHOWN, false }, IN_NAMES(n_misfits) },
	{ { "jit_unread", "processes whose files with names of JIT code were not read completely",
	    "-v shows why", NULL,
	    STRICT, ABSENT, true }, IN_ENGINE(jit.n_unread) },
	{ { "unanswered", "files that FUSE or NFS did not deliver in time", "-v shows which", NULL,
	    STRICT, SHOWN, true }, IN_NAMES(n_lost) },
	{ { "no_descriptors", "files not read for lack of descriptors, so that names or frames are "
	    "missing", "raise ulimit -n", NULL,
	    STRICT, SHOWN, true }, IN_NAMES(n_no_descriptor) },
};

#define N_ROWS (sizeof(table) / sizeof(*table))
_Static_assert(N_ROWS <= CPROF_LOSSES_MAX, "each row has a place in struct cprof_losses");

const struct cprof_loss *cprof_loss(size_t i)
{
	return i < N_ROWS ? &table[i].loss : NULL;
}

size_t cprof_loss_row(const char *key)
{
	size_t i = 0;
	while (i < N_ROWS && strcmp(table[i].loss.key, key) != 0)
		i++;
	assert(i < N_ROWS);
	return i;
}

static uint64_t read_counter(const struct row *row, const void *object)
{
	uint32_t small;
	uint64_t large;
	const char *at = (const char *)object + row->offset;
	if (row->n_bytes == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&large, at, sizeof(large));
	return large;
}

void losses_collect(const struct losses_from *from, struct cprof_losses *ret)
{
	const struct host *host = from->engine ? from->engine->options.host : NULL;
	struct remotemem_stats memory = { 0 };
	if (host && host->memory)
		memory = remotemem_stats(host->memory);
	const void *object[] = {
		[ENGINE] = from->engine, [SOURCE] = from->source, [NAMES] = from->names,
		[STATS] = from->stats, [IMPORT] = from->import,
		[MEMORY] = &memory, [EVENT] = NULL,
	};
	*ret = (struct cprof_losses){ 0 };
	for (size_t i = 0; i < N_ROWS; i++)
		if (object[table[i].object])
			ret->n[i] = read_counter(&table[i], object[table[i].object]);
}

void losses_add_event(struct cprof_losses *l, const struct cprof_event_stats *event)
{
	l->n_samples += event->n_samples;
	for (size_t i = 0; i < N_ROWS; i++)
		if (table[i].object == EVENT)
			l->n[i] += read_counter(&table[i], event);
}
