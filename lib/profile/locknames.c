/* One file at a time is opened, and its symbols of variables are read only if one is looked up. */

#include "profile/locknames.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/search.h"
#include "engine/engine.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/name/demangle.h"
#include "symbolize/name/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES_MAX 1000

static int compare_names(const void *a, const void *b)
{
	const struct locknames_name *x = a, *y = b;
	return (x->text > y->text) - (x->text < y->text);
}

static int compare_files(const void *a, const void *b)
{
	const struct locklabels_variable *x = a, *y = b;
	return (x->dso > y->dso) - (x->dso < y->dso);
}

static const struct locknames_name *find(const struct locknames *l, uint32_t text)
{
	size_t at = SEARCH_COUNT(l->name.n, i, l->name.v[i].text < text);
	return at < l->name.n && l->name.v[at].text == text ? &l->name.v[at] : NULL;
}

uint32_t locknames_of(const struct locknames *l, uint32_t text)
{
	const struct locknames_name *n = find(l, text);
	return n ? n->name : text;
}

void locknames_done(struct locknames *l)
{
	VEC_FREE(&l->name);
}

/* The id of "name+offset"; 0: no memory. */
static uint32_t name_id(struct engine *g, const struct symbolizer_options *o, const char *symbol,
			uint64_t offset)
{
	char text[NAME_BYTES_MAX + 32];
	CLEANUP_FREE char *plain = demangle_as(symbol, (enum demangle_mode)o->demangle);
	int n = snprintf(text, sizeof(text), "%.*s", NAME_BYTES_MAX, plain ? plain : symbol);
	if (offset)
		snprintf(text + n, sizeof(text) - (size_t)n, "+%" PRIu64, offset);
	return strtab_add_cstr(&g->strings, text);
}

/* The n variables are of one file, which may have been forgotten. */
static int resolve_file(struct engine *g, const struct symbolizer_options *o,
			const struct locklabels_variable *v, size_t n, struct locknames *l)
{
	const struct dso *d = v->dso < g->dsos.n ? dso_get(&g->dsos, v->dso) : NULL;
	struct symelf elf;
	const char *symbol;
	int r = 0;
	const struct symdebug_place where = {
		.host = o->host, .dirs = o->debug_dirs, .root_fd = d ? d->root_fd : 0,
		.deadline_ns = o->timeout_ns ? clock_monotonic_ns() + o->timeout_ns : 0,
		.cache_dir = o->cache_dir,
	};
	bool is_open = d && symelf_open(&elf, d, &where) == 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct symtab_symbol *s = !is_open || v[i].dso_serial != d->serial ? NULL :
			symelf_find_data(&elf, v[i].vaddr, &symbol);
		const struct locknames_name name = {
			v[i].text, s ? name_id(g, o, symbol, v[i].vaddr - s->start) : v[i].text,
		};
		r = name.name && VEC_PUSH(&l->name, name) ? 0 : -ENOMEM;
	}
	if (is_open)
		symelf_close(&elf);
	return r;
}

/* Those without a result, as an array that the caller frees, sorted by file. */
static struct locklabels_variable *list_new(const struct engine *g, const struct locknames *l,
					    size_t *ret_n)
{
	size_t n = 0;
	struct locklabels_variable *list = calloc(g->locks.variable.n + 1, sizeof(*list));
	for (size_t i = 0; list && i < g->locks.variable.n; i++)
		if (!find(l, g->locks.variable.v[i].text))
			list[n++] = g->locks.variable.v[i];
	if (n)
		qsort(list, n, sizeof(*list), compare_files);
	*ret_n = n;
	return list;
}

int locknames_resolve(struct engine *g, const struct symbolizer_options *o, struct locknames *l)
{
	size_t n;
	int r = 0;
	if (o->only_addresses || !g->locks.variable.n)
		return 0;
	CLEANUP_FREE struct locklabels_variable *list = list_new(g, l, &n);
	if (!list)
		return -ENOMEM;
	for (size_t i = 0, next; r == 0 && i < n; i = next) {
		for (next = i; next < n && list[next].dso == list[i].dso;)
			next++;
		r = resolve_file(g, o, list + i, next - i, l);
	}
	if (l->name.n)
		qsort(l->name.v, l->name.n, sizeof(*l->name.v), compare_names);
	return r;
}
