/*
 * The goroutines of Go programs, one sample each: how many are where, and how long they have been
 * waiting.  Nothing is recorded between snapshots.
 */

#include "recorder/kind.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "engine/engine.h"
#include "profile/export.h"
#include "recorder/kinds/snapshotkind.h"
#include "snapshot/goroutines.h"
#include "snapshot/keepoff.h"
#include "snapshot/refusal.h"
#include "snapshot/remaps.h"
#include "snapshot/snapshot.h"
#include "source/synth.h"

#include <errno.h>

struct kind_goroutines {
	struct snapshot snapshot;
	struct goroutines goroutines;
	struct keepoff keepoff;
};

static int choose(struct kind_session *k, struct err *e)
{
	static const struct export_number number[] = {
		{ SNAPSHOT_GO_WAIT, "nanoseconds" }, { SNAPSHOT_WAIT, "nanoseconds" },
	};
	if (k->config->n_events)
		return err_set(e, EINVAL, "a recorder of goroutines takes no events");
	return snapshotkind_choose(k, "goroutines", number, sizeof(number) / sizeof(*number),
				   sizeof(struct kind_goroutines), e);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* -ENOENT: it is not a Go program, or has ended before it was looked at. */
static int take_process(struct kind_session *k, struct engine *g, uint32_t pid, struct err *e)
{
	struct kind_goroutines *s = k->state;
	int r = remaps_read(g, k->host, pid, NULL);
	if (r == -EACCES || r == -EPERM || r == -ETIMEDOUT)
		return refusal_explain(k->host, pid, r == -EPERM ? -EACCES : r, false, e);
	struct procs_process *p = procs_find(&g->procs, pid);
	return p ? goroutines_add(&s->goroutines, &s->snapshot, p, e) : -ENOENT;
}

/* All processes that have Go programs; those that cannot be read are counted. */
static int take_all(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_goroutines *s = k->state;
	CLEANUP_FREE pid_t *pids = NULL;
	int n = synth_list(k->host, 0, &pids);
	if (n < 0)
		return err_errno(e, -n, "cannot list the processes");
	for (int i = 0; i < n; i++) {
		struct err why = { 0 };
		int r = pids[i] == k->owner ? 0 : take_process(k, g, (uint32_t)pids[i], &why);
		if (r == -ENOMEM)
			return err_errno(e, ENOMEM, "cannot read goroutines");
		s->snapshot.n_lost[SNAPSHOT_LOST_DENIED] += r == -EPERM || r == -EACCES;
		s->snapshot.n_lost[SNAPSHOT_LOST_ENDED] += r == -ESRCH;
		s->snapshot.n_lost[SNAPSHOT_LOST_UNANSWERED] += r == -ETIMEDOUT;
	}
	return 0;
}

static int take_targets(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_goroutines *s = k->state;
	uint64_t *n_silent = &s->snapshot.n_lost[SNAPSHOT_LOST_UNANSWERED];
	for (size_t i = 0; i < k->config->n_pids; i++) {
		uint32_t pid = (uint32_t)k->config->pid[i];
		int r = take_process(k, g, pid, e);
		/* It must not keep others from being read. */
		if (r == -ETIMEDOUT && ++*n_silent < k->config->n_pids)
			continue;
		if (r == -ENOENT)
			return err_set(e, ENOENT, "process %u runs no Go program", pid);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- comments -------------------------------------------------------------------------------- */

static void describe(struct kind_session *k)
{
	const struct kind_goroutines *s = k->state;
	snapshotkind_describe(k, &s->snapshot, "goroutine");
	if (s->goroutines.n_runtime)
		snapshotkind_remark(k, "snapshot: %llu goroutine%s of the runtime not shown",
				    (unsigned long long)s->goroutines.n_runtime,
				    units_s(s->goroutines.n_runtime));
	if (s->goroutines.n_bad_labels)
		snapshotkind_remark(k, "snapshot: the labels of %llu goroutine%s could not be "
				    "read", (unsigned long long)s->goroutines.n_bad_labels,
				    units_s(s->goroutines.n_bad_labels));
}

static int take(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_goroutines *s = k->state;
	if (!s->snapshot.engine)
		snapshot_init(&s->snapshot, g);
	snapshot_begin(&s->snapshot);
	s->snapshot.is_task = true;
	s->snapshot.min_wait_ns = k->config->min_wait_ns;
	s->goroutines = (struct goroutines){ .open = snapshotkind_opener(k),
					     .keepoff = &s->keepoff };
	keepoff_begin(&s->keepoff, k->host, k->config->n_readers);
	int r = k->config->all_processes ? take_all(k, g, e) : take_targets(k, g, e);
	if (!k->config->leaves_cpus)
		keepoff_end(&s->keepoff);
	if (r < 0)
		return r;
	snapshot_count(&s->snapshot);
	k->snapshot = &s->snapshot;
	describe(k);
	return 0;
}

static void close_kind(struct kind_session *k)
{
	struct kind_goroutines *s = k->state;
	if (s) {
		keepoff_end(&s->keepoff);
		snapshot_done(&s->snapshot);
	}
	snapshotkind_close(k);
}

static const struct cprof_kind kind = {
	.name = "goroutines", .choose = choose, .open = snapshotkind_open, .snapshot = take,
	.coverage_percent = snapshotkind_coverage, .close = close_kind,
};

const struct cprof_kind *cprof_goroutine_recorder(void)
{
	return &kind;
}
