/*
 * The samples' own numbers are the sums over the shards.  What records of the side band add (losses
 * in rings, throttling, born threads) all engines have seen, so only the total engine's count.
 */

#include "engine/shards.h"

#include "base/budget.h"
#include "base/err.h"
#include "base/foreign.h"
#include "proc/procs-copy.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- life --------------------------------------------------------------------------- */

static int copy_strings(struct strtab *to, const struct strtab *from)
{
	for (uint32_t id = 1; id < from->n; id++)
		if (strtab_add_cstr(to, strtab_get(from, id)) != id)
			return -ENOMEM;
	return 0;
}

/* JIT code is found by its mappings. */
static void copy_jit(struct engine *g, const struct engine *total)
{
	for (size_t i = 0; i < total->procs.n_processes; i++) {
		const struct procs_process *p = total->procs.process[i];
		for (size_t k = 0; p->space.jit && k < p->space.map.n; k++) {
			const struct procs_map *m = &p->space.map.v[k];
			const struct record r = {
				.type = PERF_RECORD_MMAP2, .pid = p->pid, .tid = p->pid,
				.has_time = true, .time_ns = jit_start_ns(&total->jit, p),
				.mmap = { .start = m->start, .len = m->end - m->start },
			};
			jit_feed(&g->jit, &g->procs, &r);
		}
	}
}

void shards_start_journal(struct shard *s)
{
	const struct engine *g = &s->engine;
	s->step.n = 0;
	s->last = (struct shards_step){
		.n_frames = g->frames.n, .n_stacks = g->stacks.n, .n_sets = g->labels.n,
		.n_counts = g->counts.n,
	};
	s->base = s->last;
}

/* Half of the limit for all, as one engine has it. */
size_t shards_files_each(uint32_t n)
{
	struct rlimit limit;
	size_t all = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 512;
	return all / (n + 1) ? all / (n + 1) : 1;
}

int shards_init(struct shard *s, const struct engine *total, const struct source *shared,
		uint32_t index, uint32_t n, struct err *e)
{
	struct engine_options o = total->options;
	struct engine *g = &s->engine;
	*s = (struct shard){ .step.n = 0 };
	o.reader = (struct share_reader){ shared, index };
	o.go.not_exact = "there are several readers";
	if (o.host) {
		s->host = *o.host;
		s->host.foreign = foreign_new();
		o.host = &s->host;
	}
	int r = engine_init(g, &o, e);
	if (r < 0) {
		foreign_free(s->host.foreign);
		return r;
	}
	g->dsos.keep.max_open = shards_files_each(n);
	if (copy_strings(&g->strings, &total->strings) < 0 ||
	    procs_copy(&g->procs, &total->procs) < 0 ||
	    targets_copy(&g->targets, &total->targets) < 0) {
		shards_done(s);
		return err_errno(e, ENOMEM, "cannot set up a further reader");
	}
	copy_jit(g, total);
	g->procs.only_targets = total->procs.only_targets;
	g->reread = total->reread;
	g->reread.host = o.host;
	shards_start_journal(s);
	shards_prepare(s, total);
	return 0;
}

void shards_done(struct shard *s)
{
	s->engine.window.gaps = (struct pausegaps){ .open_ns = 0 };  /* the total engine's */
	engine_done(&s->engine);
	foreign_free(s->host.foreign);
	VEC_FREE(&s->step);
	s->is_ready = false;
}

void shards_prepare(struct shard *s, const struct engine *total)
{
	struct engine *g = &s->engine;
	g->window.start_ns = total->window.start_ns;
	g->window.end_ns = total->window.end_ns;
	g->window.gaps = total->window.gaps;
	g->options.timeline.since_ns = total->options.timeline.since_ns;
	g->targets.started_ns = total->targets.started_ns;
	g->targets.no_idle = total->targets.no_idle;
	g->targets.all = total->targets.all;
	g->owners.unknown_is_own = total->owners.unknown_is_own;
	g->procs.no_first_exe = total->procs.no_first_exe;
}

/* ---- records ------------------------------------------------------------------------- */

static void note_growth(struct shard *s, struct share_place place)
{
	const struct engine *g = &s->engine;
	const struct shards_step now = {
		place, g->frames.n, g->stacks.n, g->labels.n, g->counts.n,
	};
	if (now.n_stacks == s->last.n_stacks && now.n_counts == s->last.n_counts &&
	    now.n_sets == s->last.n_sets && now.n_frames == s->last.n_frames)
		return;
	/* If memory is short, the order of ids differs. */
	VEC_PUSH(&s->step, now);
	s->last = now;
}

void shards_feed(struct shard *s, const struct record *r, struct share_place place)
{
	switch (r->type) {
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_KSYMBOL:
		return;  /* only the total engine needs them */
	default:
		break;
	}
	engine_feed(&s->engine, r);
	note_growth(s, place);
}

/* ---- numbers ---------------------------------------------------------------------------- */

static void move_u64(uint64_t *to, uint64_t *from)
{
	*to += *from;
	*from = 0;
}

/* A process may have threads in several shards, and is counted once. */
static void keep_most(uint64_t *to, uint64_t from)
{
	if (from > *to)
		*to = from;
}

static void move_events(struct engine *to, struct engine *from)
{
	for (size_t i = 0; i < to->options.n_events; i++) {
		struct engine_event *a = &to->event[i], *b = &from->event[i];
		move_u64(&a->n_samples, &b->n_samples);
		move_u64(&a->value, &b->value);
		move_u64(&a->n_own, &b->n_own);
		move_u64(&a->n_foreign, &b->n_foreign);
		*b = (struct engine_event){ 0 };
		move_u64(&to->window.gap_value[i], &from->window.gap_value[i]);
	}
}

static void move_times(struct engine_window *to, struct engine_window *from)
{
	if (from->first_ns && (!to->first_ns || from->first_ns < to->first_ns))
		to->first_ns = from->first_ns;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
	from->first_ns = 0;
}

static void move_stack_stats(struct stack_walk_stats *to, struct stack_walk_stats *from)
{
	/* Completed stacks are subtracted again, perhaps in a later round: sums wrap around. */
	move_u64(&to->n_truncated, &from->n_truncated);
	move_u64(&to->n_cut, &from->n_cut);
	move_u64(&to->n_unknown, &from->n_unknown);
	move_u64(&to->n_shortened, &from->n_shortened);
	move_u64(&to->n_dropped, &from->n_dropped);
}

static void move_label_stats(struct applabels_stats *to, struct applabels_stats *from)
{
	keep_most(&to->n_processes, from->n_processes);
	keep_most(&to->n_denied, from->n_denied);
	move_u64(&to->n_changes, &from->n_changes);
	move_u64(&to->n_unknown, &from->n_unknown);
	move_u64(&to->n_other, &from->n_other);
	move_u64(&to->n_bad, &from->n_bad);
}

static void move_go_stats(struct golabels *to, struct golabels *from)
{
	struct golabels_stats *a = &to->stats, *b = &from->stats;
	keep_most(&a->n_processes, b->n_processes);
	keep_most(&a->n_unsupported, b->n_unsupported);
	move_u64(&a->n_exact, &b->n_exact);
	move_u64(&a->n_late, &b->n_late);
	move_u64(&a->n_unknown, &b->n_unknown);
	move_u64(&a->lateness.n_samples, &b->lateness.n_samples);
	move_u64(&a->lateness.n_changed, &b->lateness.n_changed);
	move_u64(&a->lateness.n_readings, &b->lateness.n_readings);
	memcpy(to->why, from->why, sizeof(to->why));
	memcpy(to->unsupported, from->unsupported, sizeof(to->unsupported));
}

static void move_functions(struct functions *to, struct functions *from)
{
	for (int i = 0; i < INTERP_QUALITIES; i++)
		move_u64(&to->stats.n[i], &from->stats.n[i]);
	move_u64(&to->stats.n_refused, &from->stats.n_refused);
	move_u64(&to->stats.n_mapped, &from->stats.n_mapped);
	move_u64(&to->stats.lag_ns, &from->stats.lag_ns);
	move_u64(&to->stats.cost_ns, &from->stats.cost_ns);
	if (from->pace.step_ns && (!to->pace.step_ns || from->pace.step_ns < to->pace.step_ns))
		to->pace.step_ns = from->pace.step_ns;
	if (*from->version)
		memcpy(to->version, from->version, sizeof(to->version));
}

/* A process that several readers cannot read counts once. */
static void gather_refused(struct engine *total, const struct shard *s, size_t n)
{
	struct refused *to = &total->functions.cache.refused;
	uint64_t n_changes = 0;
	for (size_t i = 0; i < n; i++)
		n_changes += s[i].engine.functions.cache.refused.n_changes;
	if (n_changes == to->n_joined)
		return;
	refused_done(to);
	*to = (struct refused){ .n_joined = n_changes };
	for (size_t i = 0; i < n; i++)
		refused_join(to, &s[i].engine.functions.cache.refused);
}

static void add_unwound(struct engine *total, struct shard *s)
{
	struct unwound now = unwound_by(&s->engine);
	total->in_shards.n_stacks += now.n_stacks - s->seen.n_stacks;
	total->in_shards.n_beyond += now.n_beyond - s->seen.n_beyond;
	total->in_shards.n_switched += now.n_switched - s->seen.n_switched;
	s->seen = now;
}

static void share_memory(struct shard *s, size_t n, struct engine *total)
{
	size_t limit = total->options.max_memory_bytes, used = total->budget.used_bytes;
	for (size_t i = 0; i < n; i++)
		used += s[i].engine.budget.used_bytes;
	if (used > total->budget.peak_bytes)
		total->budget.peak_bytes = used;
	if (!limit)
		return;
	size_t each = (limit > used ? limit - used : 0) / (n + 1);
	for (size_t i = 0; i < n; i++)
		s[i].engine.budget.limit_bytes = s[i].engine.budget.used_bytes + each;
	total->budget.limit_bytes = total->budget.used_bytes + each;
}

void shards_add_up(struct shard *s, size_t n, struct engine *total)
{
	for (size_t i = 0; i < n; i++) {
		struct engine *g = &s[i].engine;
		move_events(total, g);
		move_times(&total->window, &g->window);
		move_stack_stats(&total->walk.stats, &g->walk.stats);
		move_u64(&total->own_labels.n_dropped, &g->own_labels.n_dropped);
		move_u64(&total->n_args_unknown, &g->n_args_unknown);
		move_label_stats(&total->app.stats, &g->app.stats);
		move_go_stats(&total->go, &g->go);
		move_functions(&total->functions, &g->functions);
		total->owners.any_other |= g->owners.any_other;
		add_unwound(total, &s[i]);
	}
	gather_refused(total, s, n);
	targets_note_time(&total->targets, total->window.last_ns);
	share_memory(s, n, total);
}

/* ---- garbage --------------------------------------------------------------------------- */

bool shards_is_due(const struct shard *s)
{
	return gc_tables_names_are_due(&s->engine.gc.tables);
}

/* If memory for the copy is short, nothing changes. */
void shards_collect(struct shard *s)
{
	gc_tables_names(&s->engine.gc.tables);
	shards_start_journal(s);
}

void shards_clear(struct shard *s)
{
	applabels_clear(&s->engine.app);
	golabels_clear(&s->engine.go);
	if (gc_tables_is_due(&s->engine.gc.tables))
		gc_tables_run(&s->engine.gc.tables, NULL, 0);
	shards_start_journal(s);
}
