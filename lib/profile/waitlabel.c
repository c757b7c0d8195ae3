#include "profile/waitlabel.h"

#include "engine/engine.h"
#include "profile/names.h"

#include <string.h>

static const char *value_of(const struct engine *g, const struct label *set, size_t n,
			    const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(strtab_get(&g->strings, set[i].key), key) == 0)
			return strtab_get(&g->strings, set[i].value);
	return NULL;
}

/* Does the thread wait for something other than a CPU? */
static bool is_blocked(const char *state)
{
	return !state || (strcmp(state, "running") != 0 && strcmp(state, "preempted") != 0 &&
			  strcmp(state, "runnable") != 0);
}

/* The frames of a node; as many as there is room for. */
static size_t add_frames(const struct engine *g, const struct names *names, uint32_t frame,
			 struct waitframes_frame *ret, size_t room)
{
	const struct names_frame *nf = &names->frames.v[frame];
	const char *module = nf->mapping == NAMES_NO_MAPPING ? "" :
		strtab_get(&g->strings, names->mappings.v[nf->mapping].filename);
	size_t n = 0;
	for (; n < nf->n_lines && n < room; n++) {
		uint32_t f = names->line_functions.v[nf->first_line + n];
		ret[n] = (struct waitframes_frame){
			.name = nf->source == SYMBOLIZER_NONE && module[0] ? "" :
				strtab_get(&g->strings, names->functions.v[f].name),
			.module = module,
			.source = strtab_get(&g->strings, names->functions.v[f].file),
		};
	}
	return n;
}

const struct waitframes_label *waitlabel_of_stack(const struct engine *g,
						  const struct names *names, uint32_t stack,
						  const char *thread)
{
	struct waitframes_frame f[WAITFRAMES_MAX];
	size_t n_frames = 0;
	uint32_t outer = STACKS_EMPTY;   /* of a stack with too many frames */
	for (; stack != STACKS_EMPTY; stack = g->stacks.v[stack].parent) {
		if (n_frames == WAITFRAMES_MAX - 1)
			outer = stack;
		else
			n_frames += add_frames(g, names, g->stacks.v[stack].frame, f + n_frames,
					       WAITFRAMES_MAX - 1 - n_frames);
	}
	bool is_whole = outer == STACKS_EMPTY;
	if (!is_whole)
		n_frames += add_frames(g, names, g->stacks.v[outer].frame, f + n_frames, 1);
	return waitframes_label(f, n_frames, is_whole, thread);
}

static const struct waitframes_label *label_of(const struct engine *g, const struct names *names,
					       struct waitlabel_last *last, uint32_t stack,
					       const char *thread)
{
	if (last->stack != stack || strcmp(last->thread, thread) != 0)
		*last = (struct waitlabel_last){
			.stack = stack, .thread = thread,
			.label = waitlabel_of_stack(g, names, stack, thread),
		};
	return last->label;
}

const struct waitframes_label *waitlabel_find(const struct engine *g, const struct names *names,
					      struct waitlabel_last *last, uint32_t stack,
					      const struct label *set, size_t n)
{
	const char *thread = value_of(g, set, n, "thread_name");
	if (!is_blocked(value_of(g, set, n, "state")))
		return NULL;
	const struct waitframes_label *l = label_of(g, names, last, stack, thread ? thread : "");
	/* The stack of one that ends a wait is not idle. */
	if (l && strcmp(l->key, "idle") == 0 && value_of(g, set, n, "waiter"))
		return NULL;
	return l && !value_of(g, set, n, l->key) ? l : NULL;
}
