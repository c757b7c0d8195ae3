/*
 * Names that a child process sends: what is taken is found again, limits hold, and the same entries
 * come out of a stream that is sent in two parts, and of one that is written from them.
 */

#include "profile/namecache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (1u << 20)
#define SMALL_BYTES 4096u               /* so that generations take turns */

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool is_before(const struct namecache_generation *g, uint32_t a, uint32_t b)
{
	const struct namecache_entry *x = &g->entry[a], *y = &g->entry[b];
	return x->file < y->file || (x->file == y->file && x->vaddr < y->vaddr);
}

static void check_generation(const struct namecache *c, const struct namecache_generation *g)
{
	for (uint32_t i = 0; g && i < g->n_entries; i++) {
		const struct namecache_entry *e = &g->entry[i];
		const struct namecache_generation *in;
		check(e->n_lines > 0 && e->first_line + e->n_lines <= g->n_lines);
		check(e->source < SYMBOLIZER_N_SOURCES);
		check(e->place == NAMECACHE_NO_PLACE || e->place < g->places.n);
		for (uint16_t k = 0; k < e->n_lines; k++)
			check(*strtab_get(&g->strings, g->line[e->first_line + k].name) != '\0');
		struct namecache_file file =
			namecache_file(c, strtab_get(&g->strings, e->file));
		check(namecache_find(c, file, e->vaddr, &in) != NULL);
		check(i == 0 || i >= g->n_ranges || is_before(g, g->range[i - 1], g->range[i]));
	}
}

/* Sends an entry again, as is done with what is still used. */
static void put_again(struct namecache_bytes *to, const struct namecache_generation *g,
		      const struct namecache_entry *e)
{
	static struct namecache_line line[NAMECACHE_LINES_MAX];
	struct namecache_item item = {
		.key = strtab_get(&g->strings, e->file), .vaddr = e->vaddr, .end = e->end,
		.address = e->address, .source = e->source, .has = e->has, .line = line,
		.n_lines = e->n_lines,
		.has_place = e->place != NAMECACHE_NO_PLACE,
	};
	if (item.has_place) {
		const struct namecache_place *p = &g->places.v[e->place];
		item.start = p->start;
		item.limit = p->limit;
		item.shift = p->shift;
		item.filename = strtab_get(&g->strings, p->filename);
		item.build_id = strtab_get(&g->strings, p->build_id);
	}
	for (uint16_t i = 0; i < e->n_lines; i++) {
		const struct symline *l = &g->line[e->first_line + i];
		line[i] = (struct namecache_line){
			strtab_get(&g->strings, l->name), strtab_get(&g->strings, l->linkage),
			strtab_get(&g->strings, l->file), l->line, l->column, l->start_line,
		};
	}
	check(namecache_put(to, &item));
}

static void check_same(const struct namecache *a, const struct namecache_entry *x,
		       const struct namecache_generation *in)
{
	const struct namecache_generation *other;
	const struct namecache_entry *y =
		namecache_find(a, namecache_file(a, strtab_get(&in->strings, x->file)), x->vaddr,
			       &other);
	check(y && y->n_lines == x->n_lines && y->source == x->source && y->has == x->has &&
	      y->address == x->address && y->end == x->end);
	check((y->place == NAMECACHE_NO_PLACE) == (x->place == NAMECACHE_NO_PLACE));
	for (uint16_t i = 0; i < x->n_lines; i++)
		check(strcmp(strtab_get(&in->strings, in->line[x->first_line + i].name),
			     strtab_get(&other->strings, other->line[y->first_line + i].name)) ==
		      0);
}

static void check_written(const struct namecache *c)
{
	struct namecache_bytes stream = { .data = { 0 } };
	struct namecache again = { 0 }, small = { 0 };
	const struct namecache_generation *g = c->now;
	for (uint32_t i = 0; g && i < g->n_entries; i++)
		put_again(&stream, g, &g->entry[i]);
	check(namecache_add(&again, stream.data.v, stream.data.n, LIMIT_BYTES) ==
	      (long)stream.data.n);
	for (uint32_t i = 0; g && i < g->n_entries; i++)
		check_same(&again, &g->entry[i], g);
	/* of two generations one is kept */
	for (unsigned int i = 0; i < 3; i++) {
		check(namecache_add(&small, stream.data.v, stream.data.n, SMALL_BYTES) ==
		      (long)stream.data.n);
		check_generation(&small, small.now);
		check_generation(&small, small.before);
		check((small.now != NULL) == (namecache_bytes_used(&small) > 0));
	}
	VEC_FREE(&stream.data);
	namecache_done(&small);
	namecache_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct namecache whole = { 0 }, parts = { 0 };
	const char *text = (const char *)data;
	long n = namecache_add(&whole, text, size, LIMIT_BYTES);
	check(n == -EINVAL || (n >= 0 && (size_t)n <= size));
	check_generation(&whole, whole.now);
	check_generation(&whole, whole.before);
	check_written(&whole);
	long first = namecache_add(&parts, text, size / 2, LIMIT_BYTES);
	if (first >= 0 && n >= 0) {
		long rest = namecache_add(&parts, text + first, size - (size_t)first, LIMIT_BYTES);
		check(rest >= 0 && first + rest == n);
		check((whole.now ? whole.now->n_entries : 0) ==
		      (parts.now ? parts.now->n_entries : 0));
	}
	namecache_done(&parts);
	namecache_done(&whole);
	return 0;
}
