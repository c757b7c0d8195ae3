#ifndef CPROF_IMPORTER_IMPORTWAITS_H
#define CPROF_IMPORTER_IMPORTWAITS_H

/*
 * How long threads waited, from a recording of perf: cprof-waiting(7).  Three things in a file say
 * so:
 *
 * - samples of sched:sched_switch, of whole CPUs: who leaves a CPU, and who gets it;
 * - samples of context-switches: where a thread leaves its CPU;
 * - SWITCH records (perf record --switch-events): when a thread leaves its CPU and gets one.
 *
 * They become what a live recording would have read.  The engine gets further events, after those
 * of the file: first one for each profile of waits, then three whose samples it uses but never
 * counts: of switches, of clocks, of wake-ups.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/evspec.h"
#include "source/schedpoint.h"

struct engine;
struct err;
struct importfiles;
struct log;
struct record;

#define IMPORTWAITS_PROFILES 4

struct importwaits_event {
	struct schedpoint point;       /* kind OTHER: it is no such tracepoint */
	bool is_switches;              /* context-switches */
	bool is_clock;                 /* its samples show where threads run */
};

/* Who got the CPU at its last switch. */
struct importwaits_cpu { bool is_known; uint32_t tid; };

struct importwaits {
	/* Set by the owner. */
	struct importfiles *files;
	const struct log *log;
	const char *path;              /* of the recording */
	bool is_swapped;               /* the other byte order */
	bool has_locks;                /* labels of locks are wanted */

	/* Results of importwaits_choose. */
	enum evspec_waiting profile[IMPORTWAITS_PROFILES];
	size_t n_profiles;             /* 0: nothing here is used */
	size_t n_events;               /* of the engine */
	uint8_t *roles;                /* enum waits_role bits, per event of the engine */

	/* Private. */
	struct importwaits_event *event;  /* per event of the file */
	size_t n_file_events;
	uint32_t switches, wakes;      /* events of the file that are used; UINT32_MAX: none */
	bool is_asked;                 /* the user wants waits: they replace other profiles */
	bool has_records;              /* SWITCH records */
	bool has_clock, wants_locks;
	bool has_other_ids;
	uint32_t disk_tid;             /* left its CPU last, in uninterruptible sleep; 0: none */
	uint64_t n_switches, last_ns;
	VEC(struct importwaits_cpu) on_cpu;
	uint64_t n_compared, n_continued;  /* switches; those that fit to the one before */
	bool has_idle;                 /* switches of a CPU's idle task, which only it has */
	const char *no_locks;          /* why locks cannot be recognized */
};

/*
 * Looks at the events of the source and chooses profiles.  wanted has the bits
 * 1 << (enum evspec_waiting - 1), if is_asked; otherwise off-cpu is chosen if the file was clearly
 * recorded for that.  -EINVAL with e set if the file lacks what is wanted; -ENOMEM.
 */
int importwaits_choose(struct importwaits *w, unsigned wanted, bool is_asked, struct err *e);
void importwaits_done(struct importwaits *w);

/* A record of the file, before the engine gets it.  True: it must not get it. */
bool importwaits_feed(struct importwaits *w, struct engine *g, const struct record *r);

/*
 * After the last record: counts waits that have not ended.  -EINVAL with e set if the file turned
 * out to lack what is wanted.
 */
int importwaits_end(struct importwaits *w, struct engine *g, struct err *e);

/* Is event i of the file contained in the profiles of waits, instead of having one of its own?
 * Valid after importwaits_end. */
bool importwaits_has_used(const struct importwaits *w, size_t i);

#endif
