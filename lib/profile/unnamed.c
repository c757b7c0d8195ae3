#include "profile/unnamed.h"

#include "base/cleanup.h"
#include "engine/engine-allocs.h"
#include "profile/names.h"
#include "symbolize/runtime/language.h"

#include <stdbool.h>
#include <stdlib.h>

/* By function, by file and by frame; NULL: out of memory. */
static uint32_t *bits_of_frames(const struct engine *g, const struct names *names)
{
	CLEANUP_FREE uint32_t *function = calloc(names->functions.n + 1, sizeof(*function));
	CLEANUP_FREE uint32_t *file = calloc(g->dsos.n + 1u, sizeof(*file));
	CLEANUP_FREE uint32_t *frame = calloc(g->frames.n + 1u, sizeof(*frame));
	if (!function || !file || !frame)
		return NULL;
	for (size_t i = 0; i < names->functions.n; i++)
		function[i] = language_of_function(strtab_get(&g->strings,
							       names->functions.v[i].name));
	for (uint32_t i = 0; i < g->dsos.n; i++) {
		const struct dso *d = dso_get(&g->dsos, i);
		file[i] = d && d->path ? language_of_file(d->path) : 0;
	}
	for (uint32_t i = 0; i < g->frames.n && i < names->frames.n; i++) {
		const struct names_frame *f = &names->frames.v[i];
		uint32_t dso = g->frames.v[i].dso;
		const struct dso *d = dso_get(&g->dsos, dso);
		if (!f->n_lines || !d)
			continue;
		frame[i] = file[dso];
		if (d->key.kind == DSO_ANON && f->source == SYMBOLIZER_NONE)
			frame[i] |= LANGUAGE_BIT_JIT;
		for (uint32_t k = 0; k < f->n_lines; k++)
			frame[i] |= function[names->line_functions.v[f->first_line + k]];
	}
	return TAKE_PTR(frame);
}

static const char *remedy_of(const struct engine *g, const struct language_text *t, bool has_waits)
{
	if (has_waits && t->for_waits)
		return t->for_waits;
	if (g->options.host && g->options.interpreter == INTERP_NONE && t->switched_off)
		return t->switched_off;
	return *g->functions.version && t->for_rest ? t->for_rest : t->remedy;
}

struct cprof_unnamed unnamed_find(const struct engine *g, const struct names *names,
				  uint32_t output)
{
	struct cprof_unnamed found = { 0 };
	double value[LANGUAGE_N + 1] = { 0 }, sum = 0;
	bool has_waits = false;
	CLEANUP_FREE uint32_t *frame = bits_of_frames(g, names);
	CLEANUP_FREE uint32_t *stack = calloc(g->stacks.n + 1u, sizeof(*stack));
	if (!frame || !stack)
		return found;
	/* a parent's index is below its children's */
	for (uint32_t i = 1; i < g->stacks.n; i++)
		stack[i] = stack[g->stacks.v[i].parent] | frame[g->stacks.v[i].frame];
	for (uint32_t i = 0; i < g->counts.n; i++) {
		const struct count *c = &g->counts.v[i];
		if (c->event >= g->options.n_events || engine_output_of(g, c->event) != output)
			continue;
		value[language_missing(stack[c->stack])] += (double)c->value;
		sum += (double)c->value;
		has_waits |= g->options.waits && g->options.waits[c->event];
	}
	for (size_t l = 0; l < LANGUAGE_N; l++) {
		double percent = sum > 0 ? 100 * value[l] / sum : 0;
		if (percent < UNNAMED_MIN_PERCENT || percent <= found.percent)
			continue;
		const struct language_text *text = language_text((enum language)l);
		found = (struct cprof_unnamed){ percent, text->what,
						remedy_of(g, text, has_waits) };
	}
	return found;
}
