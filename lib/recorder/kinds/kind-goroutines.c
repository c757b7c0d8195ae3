/*
 * The goroutines of Go programs, one sample each: how many are where, and how long they have been
 * waiting.  Nothing is recorded between snapshots.
 */

#include "recorder/kind.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "engine/engine.h"
#include "event/evopen.h"
#include "profile/export.h"
#include "recorder/machine.h"
#include "snapshot/goroutines.h"
#include "snapshot/refusal.h"
#include "snapshot/remaps.h"
#include "snapshot/snapshot.h"
#include "source/silent.h"
#include "source/synth.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMARK_BYTES 256u

struct kind_goroutines {
	struct snapshot snapshot;
	struct goroutines goroutines;
};

static int choose(struct kind_session *k, struct err *e)
{
	static const struct export_number number[] = {
		{ SNAPSHOT_GO_WAIT, "nanoseconds" }, { SNAPSHOT_WAIT, "nanoseconds" },
	};
	if (k->config->n_events)
		return err_set(e, EINVAL, "a recorder of goroutines takes no events");
	k->state = calloc(1, sizeof(struct kind_goroutines));
	k->event = calloc(1, sizeof(*k->event));
	if (!k->state || !k->event)
		return err_errno(e, ENOMEM, "cannot set up recording");
	k->n_events = k->n_outputs = 1;
	k->number = number;
	k->n_numbers = sizeof(number) / sizeof(*number);
	*k->event = (struct kind_event){
		.name = "goroutines", .file_part = "goroutines", .count_type = "goroutines",
		.sample_type = "wait", .unit = "nanoseconds", .count_unit = "", .is_count = true,
		.rate = 1, .period = 1,
	};
	return 0;
}

static int open_silent(struct kind_session *k, struct err *e)
{
	k->scope = CPROF_SCOPE_TASK;
	k->only_targets = true;
	return silent_open(&k->source, e);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

/* -ENOENT: it is not a Go program, or has ended before it was looked at. */
static int take_process(struct kind_session *k, struct engine *g, uint32_t pid, struct err *e)
{
	struct kind_goroutines *s = k->state;
	int r = remaps_read(g, k->host, pid, NULL);
	if (r == -EACCES || r == -EPERM || r == -ETIMEDOUT)
		return refusal_explain(k->host, pid, r == -EPERM ? -EACCES : r, e);
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

static void clear_remarks(struct kind_session *k)
{
	for (size_t i = 0; i < k->remarks.n; i++)
		free(k->remarks.v[i]);
	k->remarks.n = 0;
}

static void __attribute__((format(printf, 2, 3)))
remark(struct kind_session *k, const char *format, ...)
{
	char text[REMARK_BYTES];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	char *copy = strdup(text);
	if (copy && !VEC_PUSH(&k->remarks, copy))
		free(copy);
}

static void describe(struct kind_session *k)
{
	const struct kind_goroutines *s = k->state;
	const struct snapshot *shot = &s->snapshot;
	clear_remarks(k);
	remark(k, "snapshot: %zu goroutines, read in %.3f ms", shot->entries.n,
	       (double)(shot->to_ns - shot->from_ns) / 1e6);
	for (int i = 0; i < SNAPSHOT_N_QUALITIES; i++)
		if (shot->n_of[i])
			remark(k, "snapshot: %llu %s", (unsigned long long)shot->n_of[i],
			       snapshot_quality_name((enum snapshot_quality)i));
	for (int i = 0; i < SNAPSHOT_N_LOSSES; i++)
		if (shot->n_lost[i])
			remark(k, "snapshot: %llu %s", (unsigned long long)shot->n_lost[i],
			       snapshot_loss_words((enum snapshot_loss)i));
	if (s->goroutines.n_runtime)
		remark(k, "snapshot: %llu goroutines of the runtime are not shown",
		       (unsigned long long)s->goroutines.n_runtime);
	if (s->goroutines.n_bad_labels)
		remark(k, "snapshot: the labels of %llu goroutines could not be read",
		       (unsigned long long)s->goroutines.n_bad_labels);
}

static int take(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_goroutines *s = k->state;
	if (!s->snapshot.engine)
		snapshot_init(&s->snapshot, g);
	snapshot_begin(&s->snapshot);
	const struct cprof_machine *m = k->config->machine;
	s->goroutines = (struct goroutines){
		.min_wait_ns = k->config->min_wait_ns,
		.open = m && m->perf_event_open ? m->perf_event_open : evopen_syscall,
	};
	int r = k->config->all_processes ? take_all(k, g, e) : take_targets(k, g, e);
	if (r < 0)
		return r;
	snapshot_count(&s->snapshot);
	k->snapshot = &s->snapshot;
	describe(k);
	return 0;
}

static double coverage_percent(const struct kind_session *k, const struct cprof_stats *stats,
			       const struct cprof_event_stats *event)
{
	(void)k, (void)stats, (void)event;
	return -1;
}

static void close_kind(struct kind_session *k)
{
	struct kind_goroutines *s = k->state;
	if (s)
		snapshot_done(&s->snapshot);
	clear_remarks(k);
	VEC_FREE(&k->remarks);
	free(s);
	k->state = NULL;
}

static const struct cprof_kind kind = {
	.name = "goroutines", .choose = choose, .open = open_silent, .snapshot = take,
	.coverage_percent = coverage_percent, .close = close_kind,
};

const struct cprof_kind *cprof_goroutine_recorder(void)
{
	return &kind;
}
