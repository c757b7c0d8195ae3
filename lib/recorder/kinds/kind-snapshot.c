/*
 * The kind whose profile is what each thread of the targets is doing at one moment.  It opens no
 * events and has no records: cprof_recorder_snapshot reads the threads.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/rights.h"
#include "base/units.h"
#include "base/vec.h"
#include "cprof.h"
#include "engine/engine.h"
#include "profile/export.h"
#include "recorder/kind.h"
#include "recorder/kinds/snapshotkind.h"
#include "snapshot/keepoff.h"
#include "snapshot/snapshot-threads.h"
#include "snapshot/snapshot.h"
#include "source/source.h"
#include "source/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More would take longer than anybody waits, and more memory than the profile may. */
#define THREADS_MAX ((size_t)1 << 18)
#define TIME_MAX_NS UINT64_C(10000000000)
/* Of the memory for the profile, the copies of stacks take up to this part. */
#define STACKS_PART 2u

struct kind_snapshot {
	struct snapshot snapshot;
	struct keepoff keepoff;
	VEC(uint32_t) pids, tids;
	uint64_t n_taken;
	uint64_t from_ns, longest_ns;   /* of the first one; the longest of all */
};

static int choose(struct kind_session *k, struct err *e)
{
	static const struct export_number number[] = { { SNAPSHOT_WAIT, "nanoseconds" } };
	const struct cprof_config *c = k->config;
	if (c->n_events || c->freq || c->period)
		return err_set(e, EINVAL, "a snapshot of threads has no events and no rate");
	if (c->min_wait_ns && c->snapshot_stop)
		return err_set(e, EINVAL, "threads that are stopped do not wait any more: how long "
			       "they have been waiting is unknown");
	if (c->command_pid)
		return err_set(e, EINVAL, "a snapshot shows running processes, not a command");
	return snapshotkind_choose(k, "threads", number, sizeof(number) / sizeof(*number),
				   sizeof(struct kind_snapshot), e);
}

/* ---- targets -------------------------------------------------------------------------------- */

static bool add_id(struct kind_snapshot *s, uint32_t pid)
{
	for (size_t i = 0; i < s->pids.n; i++)
		if (s->pids.v[i] == pid)
			return true;
	return VEC_PUSH(&s->pids, pid);
}

static bool add_process_of(const struct kind_session *k, struct kind_snapshot *s, uint32_t tid)
{
	CLEANUP_FREE char *status = NULL;
	if (!VEC_PUSH(&s->tids, tid))
		return false;
	if (host_read_file(k->host, HOST_PROC, &status, NULL, "%u/status", tid) < 0)
		return true;
	const char *p = strstr(status, "\nTgid:");
	return add_id(s, p ? (uint32_t)strtoul(p + 6, NULL, 10) : tid);
}

/* All processes but this one. */
static bool add_all(const struct kind_session *k, struct kind_snapshot *s)
{
	CLEANUP_FREE pid_t *pids = NULL;
	int n = synth_list(k->host, 0, &pids);
	for (int i = 0; i < n; i++)
		if (pids[i] != k->owner && !VEC_PUSH(&s->pids, (uint32_t)pids[i]))
			return false;
	return n >= 0;
}

static int list_targets(const struct kind_session *k, struct kind_snapshot *s, struct err *e)
{
	const struct cprof_config *c = k->config;
	s->pids.n = s->tids.n = 0;
	bool ok = !c->all_processes || add_all(k, s);
	for (size_t i = 0; i < c->n_pids && ok; i++)
		ok = add_id(s, (uint32_t)c->pid[i]);
	for (size_t i = 0; i < c->n_tids && ok; i++)
		ok = add_process_of(k, s, (uint32_t)c->tid[i]);
	return ok ? 0 : err_errno(e, ENOMEM, "cannot take a snapshot");
}

/* ---- comments ------------------------------------------------------------------------------- */

static void describe(struct kind_session *k, const struct kind_snapshot *state)
{
	const struct snapshot *s = &state->snapshot;
	snapshotkind_describe(k, s, "thread");
	if (state->n_taken > 1)
		snapshotkind_remark(k, "snapshots: %llu in %.3f s, the longest of %.3f ms; the "
				    "other lines are about the last one",
				    (unsigned long long)state->n_taken,
				    (double)(s->to_ns - state->from_ns) / 1e9,
				    (double)state->longest_ns / 1e6);
	if (s->n_functions)
		snapshotkind_remark(k, "snapshot: functions of %llu thread%s",
				    (unsigned long long)s->n_functions, units_s(s->n_functions));
	if (s->n_no_functions)
		snapshotkind_remark(k, "snapshot: unknown functions of %llu thread%s",
				    (unsigned long long)s->n_no_functions,
				    units_s(s->n_no_functions));
	if (*s->functions_of)
		snapshotkind_remark(k, "snapshot: functions of %s", s->functions_of);
}

/* ---- the snapshot --------------------------------------------------------------------------- */

static struct threadscan_limits limits_of(const struct cprof_config *c)
{
	size_t n = kind_max_memory(c) / STACKS_PART / THREADSCAN_STACK_BYTES;
	return (struct threadscan_limits){
		.n_threads = n < THREADS_MAX ? n : THREADS_MAX, .time_ns = TIME_MAX_NS,
	};
}

static int take(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_snapshot *state = k->state;
	struct snapshot *s = &state->snapshot;
	CLEANUP_RIGHTS bool raised = rights_raise();
	if (!s->engine)
		snapshot_init(s, g);
	s->min_wait_ns = k->config->min_wait_ns;
	int r = list_targets(k, state, e);
	if (r < 0)
		return r;
	k->snapshot = s;
	keepoff_begin(&state->keepoff, k->host, k->config->n_readers);
	r = snapshot_threads_take(s, &(struct snapshot_threads){
		.host = k->host, .open = snapshotkind_opener(k),
		.pid = state->pids.v, .n_pids = state->pids.n,
		.tid = state->tids.n ? state->tids.v : NULL, .n_tids = state->tids.n,
		.stop = (enum snapshot_stop)k->config->snapshot_stop,
		.interpreter = (enum interp_mode)k->config->interpreter,
		.limits = limits_of(k->config), .n_readers = k->config->n_readers,
		.on_reader = k->config->on_reader, .on_reader_ctx = k->config->on_reader_ctx,
		.keepoff = &state->keepoff,
	}, e);
	if (!k->config->leaves_cpus)
		keepoff_end(&state->keepoff);
	if (r < 0)
		return r;
	state->from_ns = state->n_taken++ ? state->from_ns : s->from_ns;
	if (s->to_ns - s->from_ns > state->longest_ns)
		state->longest_ns = s->to_ns - s->from_ns;
	describe(k, state);
	return 0;
}

/* ---- results -------------------------------------------------------------------------------- */

static int why_empty(const struct kind_session *k, const struct cprof_stats *stats,
		     const struct cprof_event_stats *event, struct err *e)
{
	(void)k, (void)stats, (void)event;
	return err_set(e, ENODATA, "the snapshot has no threads: the processes have ended");
}

static void close_kind(struct kind_session *k)
{
	struct kind_snapshot *state = k->state;
	if (state) {
		keepoff_end(&state->keepoff);
		snapshot_done(&state->snapshot);
		VEC_FREE(&state->pids);
		VEC_FREE(&state->tids);
	}
	snapshotkind_close(k);
}

const struct cprof_kind *cprof_snapshot_recorder(void)
{
	static const struct cprof_kind threads = {
		.name = "threads", .choose = choose, .open = snapshotkind_open, .snapshot = take,
		.coverage_percent = snapshotkind_coverage, .why_empty = why_empty,
		.close = close_kind,
	};
	return &threads;
}
