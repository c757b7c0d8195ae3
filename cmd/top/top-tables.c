/*
 * A table is made anew for each refresh and each key: one row per string or thread, of which those
 * without costs are left out.  So nothing has to be kept in order while costs are added.
 */

#include "cmd/top/top-tables.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_shown(const struct top_tally *t, const struct top_tally_cell *c, uint32_t thread)
{
	return (thread == TOP_TALLY_ALL || c->thread == thread) && (!c->is_idle || t->shows_idle);
}

static void add_cells(const struct top_tally *t, struct top_tally_row *row,
		      const struct top_tally_cells *c, bool by_thread, uint32_t thread,
		      bool is_last)
{
	for (size_t i = 0; i < c->list.n; i++) {
		const struct top_tally_cell *cell = &c->list.v[i];
		if (!is_shown(t, cell, thread))
			continue;
		struct top_tally_row *to = &row[by_thread ? cell->thread : cell->name];
		int64_t *flat = is_last ? &to->last_flat : &to->flat;
		int64_t *cum = is_last ? &to->last_cum : &to->cum;
		*flat = model_add(*flat, cell->flat);
		*cum = model_add(*cum, cell->cum);
	}
}

struct sorting { const struct top_tally *t; enum top_tally_order order; bool by_thread; };

static int64_t sort_value(const struct top_tally_row *r, enum top_tally_order order)
{
	switch (order) {
	case TOP_TALLY_LAST_FLAT: return r->last_flat;
	case TOP_TALLY_LAST_CUM: return r->last_cum;
	case TOP_TALLY_FLAT: return r->flat;
	case TOP_TALLY_CUM: return r->cum;
	default: return 0;
	}
}

static int compare_rows(const void *va, const void *vb, void *ctx)
{
	const struct sorting *s = ctx;
	const struct top_tally_row *a = va, *b = vb;
	int64_t x = sort_value(a, s->order), y = sort_value(b, s->order);
	if (x != y)
		return (x < y) - (x > y);
	if (s->order != TOP_TALLY_NAME && a->cum != b->cum)
		return (a->cum < b->cum) - (a->cum > b->cum);
	return s->by_thread ? (a->name > b->name) - (a->name < b->name)
			    : strcmp(strtab_get(&s->t->strings, a->name),
				     strtab_get(&s->t->strings, b->name));
}

enum table { BY_FUNCTION, BY_THREAD, BY_STATE, BY_LOCK };

static const struct top_tally_cells *cells_of(enum table kind, const struct top_tally_cells *cells,
					      const struct top_tally_cells *states,
					      const struct top_tally_locks *locks)
{
	return kind == BY_STATE ? states : kind == BY_LOCK ? &locks->waiters : cells;
}

static int make_table(const struct top_tally *t, enum table kind, uint32_t thread,
		      enum top_tally_order order, struct top_tally_table *ret, struct err *e)
{
	bool by_thread = kind == BY_THREAD;
	size_t n = by_thread ? t->threads.n : t->strings.n;
	struct top_tally_table table = { 0 };
	struct sorting s = { t, order, by_thread };
	struct top_tally_row *row = calloc(n + 1, sizeof(*row));
	if (!row)
		return err_errno(e, ENOMEM, "cannot show what was recorded");
	add_cells(t, row, cells_of(kind, &t->total, &t->states, &t->locks), by_thread, thread,
		  false);
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct top_tally_step *p = &t->steps.v[i];
		add_cells(t, row, cells_of(kind, &p->cells, &p->states, &p->locks), by_thread,
			  thread, true);
	}
	for (size_t i = 0; i < n; i++) {
		if (row[i].flat == 0 && row[i].cum == 0)
			continue;
		table.last_sum = model_add(table.last_sum, row[i].last_flat);
		table.sum = model_add(table.sum, row[i].flat);
		row[table.rows.n] = row[i];
		row[table.rows.n++].name = (uint32_t)i;
	}
	table.rows.v = row;
	table.rows.cap = n + 1;
	qsort_r(row, table.rows.n, sizeof(*row), compare_rows, &s);
	*ret = table;
	return 0;
}

int top_tables_functions(const struct top_tally *t, uint32_t thread, enum top_tally_order order,
			struct top_tally_table *ret, struct err *e)
{
	return make_table(t, BY_FUNCTION, thread, order, ret, e);
}

int top_tables_threads(const struct top_tally *t, struct top_tally_table *ret, struct err *e)
{
	return make_table(t, BY_THREAD, TOP_TALLY_ALL, TOP_TALLY_LAST_FLAT, ret, e);
}

int top_tables_states(const struct top_tally *t, uint32_t thread, struct top_tally_table *ret,
		     struct err *e)
{
	return make_table(t, BY_STATE, thread, TOP_TALLY_LAST_FLAT, ret, e);
}

int top_tables_locks(const struct top_tally *t, uint32_t thread, struct top_tally_table *ret,
		     struct err *e)
{
	return make_table(t, BY_LOCK, thread, TOP_TALLY_LAST_FLAT, ret, e);
}

struct top_tables_lock top_tables_lock(const struct top_tally *t, uint32_t lock)
{
	struct top_tables_lock l = { .waiter = TOP_TALLY_ALL };
	int64_t held = 0, waited = 0;
	for (size_t i = 0; i < t->locks.waiters.list.n; i++) {
		const struct top_tally_cell *c = &t->locks.waiters.list.v[i];
		if (c->name != lock || !is_shown(t, c, TOP_TALLY_ALL))
			continue;
		l.n_waiters++;
		if (c->flat > waited) {
			waited = c->flat;
			l.waiter = c->thread;
		}
	}
	for (size_t i = 0; i < t->locks.holders.list.n; i++) {
		const struct top_tally_cell *c = &t->locks.holders.list.v[i];
		if (c->thread == lock && c->flat > held) {
			held = c->flat;
			l.holder = c->name;
		}
	}
	return l;
}

int64_t top_tables_idle(const struct top_tally *t, uint32_t thread)
{
	int64_t sum = 0;
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct top_tally_cells *c = &t->steps.v[i].cells;
		for (size_t k = 0; k < c->list.n; k++)
			if (c->list.v[k].is_idle &&
			    (thread == TOP_TALLY_ALL || c->list.v[k].thread == thread))
				sum = model_add(sum, c->list.v[k].flat);
	}
	return sum;
}
