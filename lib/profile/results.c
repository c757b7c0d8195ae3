#include "profile/results.h"

#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "cprof.h"
#include "profile/comments.h"
#include "engine/engine.h"
#include "profile/export.h"
#include "profile/losses.h"
#include "profile/names.h"
#include "profile/unnamed.h"
#include "source/source.h"
#include "symbolize/runtime/waitframes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sorted samples at level 1 are smaller than unsorted ones at 9. */
#define ZLIB_LEVEL 1
/* Parts are sent, and each of them is small. */
#define ZLIB_LEVEL_PART 4

static void set_functions(const struct functions *f, struct cprof_stats *ret)
{
	const struct functions_stats *st = &f->stats;
	uint64_t n = 0;
	for (int i = 0; i < INTERP_QUALITIES; i++)
		n += st->n[i];
	ret->n_functions_exact = st->n[INTERP_QUALITY_EXACT];
	ret->n_functions_remembered = st->n[INTERP_QUALITY_REMEMBERED];
	ret->n_functions_innermost = st->n[INTERP_QUALITY_INNERMOST];
	ret->n_functions_unknown = st->n[INTERP_QUALITY_UNKNOWN];
	ret->functions_lag_ns = n ? st->lag_ns / n : 0;
	ret->functions_ns = st->cost_ns;
	ret->functions_step_ns = f->pace.step_ns;
	ret->functions_of = f->version;
	ret->functions_refused = f->cache.refused.line;
	ret->n_functions_refused = st->n_refused;
	ret->n_functions_mapped = st->n_mapped;
}

void results_stats(const struct engine *g, const struct source *s, const struct names *names,
		   struct cprof_stats *ret)
{
	const struct stack_walk_stats *w = &g->walk.stats;
	ret->n_stacks = g->counts.n;
	ret->n_frames = g->frames.n;
	ret->n_processes = g->procs.n_processes;
	ret->n_threads = g->procs.n_threads;
	ret->n_truncated = w->n_truncated;
	ret->n_cut = w->n_cut;
	ret->n_unknown_pc = w->n_unknown;
	ret->n_not_unwound = g->walk.user.n_unsupported;
	ret->n_shortened = w->n_shortened;
	ret->n_dropped = w->n_dropped;
	ret->n_labels_dropped = g->own_labels.n_dropped;
	ret->n_labelled = g->app.stats.n_processes;
	ret->n_labels_denied = g->app.stats.n_denied;
	ret->n_labels_unknown = g->app.stats.n_unknown;
	ret->n_labels_other = g->app.stats.n_other;
	ret->n_go_labelled = g->go.stats.n_processes;
	ret->n_go_exact = g->go.stats.n_exact;
	ret->n_go_late = g->go.stats.n_late;
	ret->n_go_unknown = g->go.stats.n_unknown;
	ret->go_late_wrong_max = g->go.stats.n_late ? lateness_share(&g->go.stats.lateness) : 0;
	ret->n_go_changes = g->go.stats.n_changes;
	ret->go_changes_ns = g->go.stats.changes_ns;
	ret->go_not_exact = g->go.why;
	ret->n_go_unsupported = g->go.stats.n_unsupported;
	ret->go_unsupported = g->go.unsupported;
	set_functions(&g->functions, ret);
	ret->n_held_halvings = g->allocs.n_halvings;
	ret->n_allocs_untracked += g->allocs.n_unfit;
	ret->n_born = g->n_born;
	ret->n_undecodable = s->losses.n_undecodable;
	ret->n_unknown_records = s->losses.n_unknown;
	ret->n_out_of_order = s->losses.n_out_of_order;
	ret->peak_memory_bytes = g->budget.peak_bytes;
	ret->n_cpus = s->facts.n_cpus;
	for (size_t i = 0; i < g->options.n_events; i++)
		ret->n_foreign += g->event[i].n_foreign;
	for (size_t i = 0; i < g->options.n_events; i++)
		ret->n_own_samples += g->event[i].n_own;
	if (!names)
		return;
	ret->n_frames_user = names->n_frames_user;
	ret->n_frames_user_named = names->n_frames_user_named;
	ret->n_frames_kernel = names->n_frames_kernel;
	ret->n_frames_kernel_named = names->n_frames_kernel_named;
	ret->kernel_names_hidden = names->kernel_hidden;
	ret->n_debug_misfits = names->files.n_misfits;
	ret->n_symbol_timeouts = names->files.n_timeouts;
}

bool results_stack_ends(const struct engine *g, size_t i, struct cprof_stack_ends *ret)
{
	_Static_assert(CPROF_N_STACK_ENDS == UNWIND_N_ENDS, "one word per reason");
	const struct stack_user *u = &g->walk.user;
	*ret = (struct cprof_stack_ends){ 0 };
	if (i == 0) {
		memcpy(ret->n, u->ends.n, sizeof(u->ends.n));
		ret->n_joined = u->n_joined;
		ret->n_guessed = stack_user_n_guessed(u);
		return true;
	}
	for (uint32_t dso = 0; dso < u->modules.n; dso++) {
		uint64_t sum = 0;
		for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
			sum += u->modules.v[dso].ends.n[k];
		if (sum == 0 || --i > 0)
			continue;
		ret->path = dso_get(&g->dsos, dso)->path;
		memcpy(ret->n, u->modules.v[dso].ends.n, sizeof(u->modules.v[dso].ends.n));
		return true;
	}
	return false;
}

const char *cprof_stack_end_name(size_t reason)
{
	return reason < UNWIND_N_ENDS ? unwind_end_name((enum unwind_end)reason) : NULL;
}

static uint64_t sum_of(const struct cprof_stack_ends *e)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
		sum += e->n[k];
	return sum;
}

size_t results_worst_ends(const struct engine *g, struct cprof_stack_ends *ret, size_t n_max)
{
	struct cprof_stack_ends one;
	size_t n = 1;
	results_stack_ends(g, 0, ret);
	for (size_t i = 1; results_stack_ends(g, i, &one); i++) {
		size_t at = n < n_max ? n++ : n_max;
		for (; at > 1 && sum_of(&ret[at - 1]) < sum_of(&one); at--)
			if (at < n_max)
				ret[at] = ret[at - 1];
		if (at < n_max)
			ret[at] = one;
	}
	return n;
}

#define COMM_BYTES 16u  /* of a name in the kernel, with its NUL */

static bool add_comment(struct comments *c, const char *text)
{
	char *copy = strdup(text);
	if (copy && VEC_PUSH(&c->list, copy))
		return true;
	free(copy);
	return false;
}

/* A program may have several names: redis-server is a link to redis-check-rdb. */
static bool add_process(struct comments *c, const struct results_profile *p)
{
	const struct engine *g = p->engine;
	char text[64];
	if (p->config->all_processes || g->procs.no_first_exe || g->procs.first_exe == UINT32_MAX)
		return true;
	const struct procs_process *process = procs_find(&g->procs, g->procs.first_exe_pid);
	const char *file = path_base_name(dso_get(&g->dsos, g->procs.first_exe)->path);
	const char *name = process ? strtab_get(&g->strings, process->name) : "";
	/* The kernel cuts names. */
	if (!*name || strncmp(name, file, COMM_BYTES - 1) == 0)
		return true;
	snprintf(text, sizeof(text), "process: %s", name);
	return add_comment(c, text);
}

static bool add_unnamed(struct comments *c, const struct results_profile *p)
{
	char text[160];
	struct cprof_unnamed u = unnamed_find(p->engine, p->names, p->event);
	snprintf(text, sizeof(text), "names: %.1f %% of the profile is %s", u.percent, u.what);
	return u.percent <= 0 || add_comment(c, text);
}

/* What a runtime's waits do not show, unless its tasks are in the profile themselves. */
static bool add_remark(struct comments *c, const struct results_profile *p)
{
	const struct names *names = p->names;
	bool has_tasks = p->engine->waits.has_tasks && strcmp(p->ev->name, "block") == 0;
	for (size_t i = 0; p->ev->is_waiting && !has_tasks && i < names->functions.n; i++) {
		const char *remark = waitframes_remark(strtab_get(&p->engine->strings,
								  names->functions.v[i].name));
		if (remark)
			return add_comment(c, remark);
	}
	return true;
}

static bool add_remarks_of_kind(struct comments *c, const struct results_profile *p)
{
	for (size_t i = 0; i < p->n_remarks; i++)
		if (!add_comment(c, p->remark[i]))
			return false;
	return true;
}

static bool add_timeline(struct comments *c, const struct results_profile *p)
{
	const struct timelabel *t = &p->engine->options.timeline;
	char text[80], width[UNITS_TEXT_MAX];
	if (!t->bucket_ns)
		return true;
	snprintf(text, sizeof(text), "timeline: the label " TIMELABEL_KEY " has steps of %s",
		 units_duration_text(timelabel_width_ns(t, p->end_ns), width));
	return add_comment(c, text);
}

/* What the file says about the whole recording. */
static int describe(struct comments *comments, const struct results_profile *p)
{
	struct cprof_stack_ends ends[COMMENTS_ENDS_MAX];
	size_t n_ends = results_worst_ends(p->engine, ends, COMMENTS_ENDS_MAX);
	struct cprof_losses losses;
	losses_collect(&(struct losses_from){
		.engine = p->engine, .source = p->source, .names = p->names, .stats = p->stats,
	}, &losses);
	losses_add_event(&losses, p->ev);
	if (comments_make(comments, p->config, &p->source->facts, p->stats, p->ev, ends, n_ends,
			  p->cuts, p->changes, &losses, p->coverage_percent) < 0)
		return -ENOMEM;
	return add_process(comments, p) && add_unnamed(comments, p) && add_remark(comments, p) &&
	       add_remarks_of_kind(comments, p) && add_timeline(comments, p) ? 0 : -ENOMEM;
}

int results_write(const struct results_profile *p,
		  int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		  struct err *e)
{
	struct comments comments = { 0 };
	int r = p->part ? 0 : describe(&comments, p);
	if (r < 0 || (p->origin && !add_comment(&comments, p->origin))) {
		r = err_errno(e, ENOMEM, "cannot write the profile");
	} else {
		struct export_info info = {
			.count_type = p->count_type,
			.type = p->ev->sample_type, .unit = p->ev->unit, .period = p->period,
			.time_ns = p->stats->start_realtime_ns,
			.duration_ns = (int64_t)(p->stats->duration_ns ? p->stats->duration_ns : 1),
			.comment = (const char *const *)comments.list.v,
			.n_comments = comments.list.n, .optional_labels = p->optional_labels,
			.number = p->number, .n_numbers = p->n_numbers, .is_count = p->is_count,
			.is_memory = p->is_memory, .held_count_type = p->held_count_type,
			.held_type = p->held_type, .period_type = p->period_type,
			.peak_count_type = p->peak_count_type, .peak_type = p->peak_type,
			.part = p->part, .level = p->part ? ZLIB_LEVEL_PART : ZLIB_LEVEL,
			.has_waits = p->ev->is_waiting,
			.start_ns = p->start_ns, .end_ns = p->end_ns,
			.scale = p->ev->scale * (double)p->ev->unit_each,
		};
		r = export_write(p->engine, p->names, p->event, &info, write, ctx, e);
	}
	comments_done(&comments);
	return r;
}
