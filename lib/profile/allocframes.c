#include "profile/allocframes.h"

#include "base/cleanup.h"
#include "engine/engine.h"
#include "profile/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_allocating_name(const char *name)
{
	static const char *const known[] = {
		"malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc",
		"memalign", "valloc", "pvalloc", "operator new", "operator new[]",
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	/* with parameters, or not demangled */
	return strncmp(name, "operator new(", 13) == 0 ||
	       strncmp(name, "operator new[](", 15) == 0 || strncmp(name, "_Znw", 4) == 0 ||
	       strncmp(name, "_Zna", 4) == 0;
}

static bool is_allocating(const struct engine *g, const struct names *n, uint32_t frame)
{
	const struct names_frame *f = &n->frames.v[frame];
	if (dso_get(&g->dsos, g->frames.v[frame].dso)->allocs_vaddr)
		return true;
	if (!f->n_lines)
		return false;
	uint32_t function = n->line_functions.v[f->first_line + f->n_lines - 1];
	return is_allocating_name(strtab_get(&g->strings, n->functions.v[function].name));
}

uint32_t *allocframes_trim(const struct engine *g, const struct names *names)
{
	uint32_t *shown = calloc(g->stacks.n ? g->stacks.n : 1, sizeof(*shown));
	CLEANUP_FREE bool *drop = calloc(g->frames.n ? g->frames.n : 1, sizeof(*drop));
	if (!shown || !drop) {
		free(shown);
		return NULL;
	}
	for (uint32_t i = 0; i < g->frames.n && i < names->frames.n; i++)
		drop[i] = is_allocating(g, names, i);
	/* a parent's index is below its children's */
	for (uint32_t i = 1; i < g->stacks.n; i++) {
		const struct stack_node *node = &g->stacks.v[i];
		uint32_t caller = shown[node->parent];
		shown[i] = drop[node->frame] && caller != STACKS_EMPTY ? caller : i;
	}
	return shown;
}
