#include "stack/stack-tables.h"

#include "base/hugemem.h"
#include "stack/stack-chain.h"
#include "stack/stack-frames.h"

#include <string.h>

#define JOIN_SAMPLES 4096u

/* Gives each table its place in the memory at `at`, if that is not NULL.  Returns their size. */
static size_t lay_out_tables(struct stack_walk *w, uint8_t *at, void **ret_rules)
{
	size_t n = 0;
#define TABLE(table, n_table_bytes) \
	do { \
		if (at) \
			(table) = (void *)(at + n); \
		n += (n_table_bytes); \
	} while (0)
	/* those of 16 bytes per entry first */
	TABLE(*ret_rules, unwind_cache_bytes(0));
	TABLE(w->cache, STACK_FRAMES_ENTRIES * sizeof(*w->cache));
	TABLE(w->known.v, sizeof(*w->known.v) << STACK_KNOWN_BITS);
	TABLE(w->alone, STACK_TABLES_ALONE * sizeof(*w->alone));
	TABLE(w->pc, STACK_CHAIN_MAX * sizeof(*w->pc));
	TABLE(w->frame, STACK_CHAIN_MAX * sizeof(*w->frame));
	TABLE(w->is_kernel, STACK_CHAIN_MAX * sizeof(*w->is_kernel));
#undef TABLE
	return n;
}

bool stack_tables_new(struct stack_walk *w, void **ret_rules)
{
	w->tables = hugemem_new(lay_out_tables(w, NULL, ret_rules));
	w->n_before_join = JOIN_SAMPLES;
	if (w->tables)
		lay_out_tables(w, w->tables, ret_rules);
	return w->tables;
}

void stack_tables_free(struct stack_walk *w)
{
	void *rules;
	hugemem_free(w->tables, lay_out_tables(w, NULL, &rules));
}

void stack_tables_clear(struct stack_walk *w)
{
	memset(w->cache, 0, STACK_FRAMES_ENTRIES * sizeof(*w->cache));
	memset(w->alone, 0, STACK_TABLES_ALONE * sizeof(*w->alone));
	memset(w->known.v, 0, sizeof(*w->known.v) << STACK_KNOWN_BITS);
}

void stack_tables_join(struct stack_walk *w)
{
	void *rules;
	if (w->n_before_join && !--w->n_before_join)
		hugemem_join(w->tables, lay_out_tables(w, NULL, &rules));
}
