/*
 * Names that a child process sends: what is taken is found again, limits hold, and the same entries
 * come out of a stream that is sent in two parts.
 */

#include "profile/namecache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (1u << 20)

static void check(bool ok)
{
	if (!ok)
		abort();
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
		check(namecache_find(c, strtab_get(&g->strings, e->file), e->vaddr, &in) != NULL);
	}
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
