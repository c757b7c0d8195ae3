/*
 * A snapshot opens no events of its own, so that its source is silent.  What a reader of the file
 * must know about it becomes comments, which are replaced with each snapshot of a series.
 */

#include "recorder/kinds/snapshotkind.h"

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "recorder/machine.h"
#include "snapshot/snapshot.h"
#include "source/silent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int snapshotkind_choose(struct kind_session *k, const char *name,
			const struct export_number *number, size_t n_numbers, size_t n_bytes,
			struct err *e)
{
	k->state = calloc(1, n_bytes);
	k->event = calloc(1, sizeof(*k->event));
	if (!k->event || !k->state)
		return err_errno(e, ENOMEM, "cannot take a snapshot");
	k->n_events = k->n_outputs = 1;
	k->number = number;
	k->n_numbers = n_numbers;
	*k->event = (struct kind_event){
		.name = name, .file_part = name, .count_type = name, .sample_type = "wait",
		.unit = "nanoseconds", .count_unit = "", .is_count = true, .rate = 1, .period = 1,
	};
	return 0;
}

int snapshotkind_open(struct kind_session *k, struct err *e)
{
	k->scope = CPROF_SCOPE_TASK;
	k->only_targets = true;
	return silent_open(&k->source, e);
}

double snapshotkind_coverage(const struct kind_session *k, const struct cprof_stats *stats,
			     const struct cprof_event_stats *event)
{
	(void)k, (void)stats, (void)event;
	return -1;
}

evopen_fn *snapshotkind_opener(const struct kind_session *k)
{
	const struct cprof_machine *m = k->config->machine;
	return m && m->perf_event_open ? m->perf_event_open : evopen_syscall;
}

/* ---- comments ------------------------------------------------------------------------------ */

static void forget_remarks(struct kind_session *k)
{
	for (size_t i = 0; i < k->remarks.n; i++)
		free(k->remarks.v[i]);
	k->remarks.n = 0;
}

void snapshotkind_remark(struct kind_session *k, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n >= 0 && !VEC_PUSH(&k->remarks, text))
		free(text);
}

void snapshotkind_describe(struct kind_session *k, const struct snapshot *s, const char *what)
{
	forget_remarks(k);
	snapshotkind_remark(k, "snapshot: %zu %s%s, read within %.3f ms", s->entries.n, what,
			    units_s(s->entries.n), (double)(s->to_ns - s->from_ns) / 1e6);
	for (unsigned i = 0; i < SNAPSHOT_N_QUALITIES; i++)
		if (s->n_of[i])
			snapshotkind_remark(k, "snapshot: %llu %s%s %s",
					    (unsigned long long)s->n_of[i], what,
					    units_s(s->n_of[i]),
					    snapshot_quality_name((enum snapshot_quality)i));
	if (s->n_short)
		snapshotkind_remark(k, "snapshot: %llu more %s%s not waiting for %.3f s yet",
				    (unsigned long long)s->n_short, what, units_s(s->n_short),
				    (double)s->min_wait_ns / 1e9);
	for (unsigned i = 0; i < SNAPSHOT_N_LOSSES; i++)
		if (s->n_lost[i])
			snapshotkind_remark(k, "losses: %llu %s%s %s",
					    (unsigned long long)s->n_lost[i], what,
					    units_s(s->n_lost[i]),
					    snapshot_loss_words((enum snapshot_loss)i));
	if (s->n_not_stopped && s->tracer)
		snapshotkind_remark(k, "snapshot: %llu thread%s could not be stopped: process %u "
				    "'%s' traces them", (unsigned long long)s->n_not_stopped,
				    units_s(s->n_not_stopped),
				    s->tracer, s->tracer_name);
	else if (s->n_not_stopped)
		snapshotkind_remark(k, "snapshot: %llu thread%s did not stop in time",
				    (unsigned long long)s->n_not_stopped,
				    units_s(s->n_not_stopped));
	if (s->n_stopped)
		snapshotkind_remark(k, "snapshot: %llu thread%s %s stopped, the longest for "
				    "%.3f ms", (unsigned long long)s->n_stopped,
				    units_s(s->n_stopped), units_word(s->n_stopped, "was", "were"),
				    (double)s->stopped_ns / 1e6);
	else
		snapshotkind_remark(k, "snapshot: no thread was stopped");
}

void snapshotkind_close(struct kind_session *k)
{
	forget_remarks(k);
	VEC_FREE(&k->remarks);
	free(k->state);
	k->state = NULL;
}
