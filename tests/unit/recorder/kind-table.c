#include "tests/unit/recorder/kind-table.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "recorder/kind.h"
#include "source/record.h"
#include "source/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

struct kind_table kind_table;

/* ---- the source: rows become records ------------------------------------------------- */

struct table_source {
	struct source source;
	size_t n_read;
	uint64_t chain[3];
};

static int next_row(struct source *s, struct record *ret_record, struct err *e)
{
	struct table_source *t = (struct table_source *)s;
	(void)e;
	if (t->n_read >= kind_table.n_rows)
		return SOURCE_IDLE;
	const struct kind_table_wait *w = &kind_table.row[t->n_read];
	t->chain[0] = PERF_CONTEXT_USER;
	t->chain[1] = (uint64_t)(uintptr_t)w->leaf;
	t->chain[2] = (uint64_t)(uintptr_t)w->caller;
	*ret_record = (struct record){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .event = 0,
		.id = t->n_read++, .has_time = true, .time_ns = clock_monotonic_ns(),
		.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid(), .cpu = 0,
		.sample = { .ip = t->chain[1], .callchain = t->chain, .n_callchain = 3 },
	};
	return SOURCE_RECORD;
}

static void close_source(struct source *s)
{
	free(s);
}

static const struct source_ops table_ops = { .next = next_row, .close = close_source };

/* ---- the kind ------------------------------------------------------------------------ */

static int choose(struct kind_session *k, struct err *e)
{
	if (k->config->n_events)
		return err_set(e, EINVAL, "a table of waits has no events to choose from");
	k->event = calloc(1, sizeof(*k->event));
	if (!k->event)
		return err_errno(e, ENOMEM, "cannot set up recording");
	k->n_events = k->n_outputs = 1;
	*k->event = (struct kind_event){
		.name = "lock-waits", .file_part = "lock-waits", .count_type = "contentions",
		.sample_type = "delay", .unit = "nanoseconds", .rate = 1, .count_unit = "",
	};
	k->state = &kind_table;
	kind_table.n_open++;
	return 0;
}

static int open_source(struct kind_session *k, struct err *e)
{
	struct table_source *t = calloc(1, sizeof(*t));
	struct utsname u;
	if (!t)
		return err_errno(e, ENOMEM, "cannot set up recording");
	t->source.ops = &table_ops;
	if (uname(&u) == 0)
		snprintf(t->source.facts.arch, sizeof(t->source.facts.arch), "%s", u.machine);
	k->source = &t->source;
	k->scope = CPROF_SCOPE_TASK;
	k->only_targets = true;
	return 0;
}

static void feed(struct kind_session *k, struct engine *g, const struct record *record)
{
	const struct kind_table *t = k->state;
	const struct kind_table_wait *w = &t->row[record->id];
	const struct engine_label label[] = { { "lock", w->lock }, { "state", "blocked" } };
	engine_add_sample(g, record, &(struct engine_values){
		.n = w->n, .value = w->delay_ns, .label = label, .n_labels = 2,
	});
}

static double coverage_percent(const struct kind_session *k, const struct cprof_stats *stats,
			       const struct cprof_event_stats *event)
{
	const struct kind_table *t = k->state;
	(void)stats;
	return t->all_delay_ns ? 100.0 * (double)event->value / (double)t->all_delay_ns : -1;
}

static int why_empty(const struct kind_session *k, const struct cprof_stats *stats,
		     const struct cprof_event_stats *event, struct err *e)
{
	(void)k;
	(void)stats;
	err_set(e, ENODATA, "there is no sample of '%s': no thread waited for a lock",
		event->name);
	return -ENODATA;
}

static void close_kind(struct kind_session *k)
{
	if (k->state)
		kind_table.n_open--;
}

const struct cprof_kind *kind_table_recorder(void)
{
	static const struct cprof_kind table = {
		.name = "table", .choose = choose, .open = open_source, .feed = feed,
		.coverage_percent = coverage_percent, .why_empty = why_empty, .close = close_kind,
	};
	return &table;
}
