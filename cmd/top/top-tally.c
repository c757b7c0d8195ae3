/*
 * Each refresh is a profile of its own, small since it covers one second.  Its costs are added to
 * those since the start.  They are also kept separately until the refresh leaves the window.
 *
 * The profiles themselves are kept, to be written as one.  Those that left the window are merged
 * once they have grown to the size of the merged one.  So memory depends on the number of distinct
 * stacks, and each byte is merged only a few times.
 */

#include "cmd/top/top-tally.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/membuf.h"
#include "view/model/filter.h"
#include "view/model/waiting.h"
#include "view/table/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The minimum number of profiles to merge at a time. */
#define MERGE_MIN 16u
#define ZLIB_FAST 1
#define ZLIB_DEFAULT 6

static int no_memory(struct err *e)
{
	return err_errno(e, ENOMEM, "cannot keep what was recorded");
}

/* ---- costs by thread and function ------------------------------------------------- */

static void cells_done(struct top_tally_cells *c)
{
	VEC_FREE(&c->list);
	hashindex_done(&c->index);
	*c = (struct top_tally_cells){ 0 };
}

static bool cells_add(struct top_tally_cells *c, const struct top_tally_cell *add)
{
	uint64_t hash = hash_pair((uint64_t)add->is_idle << 32 | add->thread, add->name);
	uint32_t i = HASHINDEX_FIND(&c->index, hash, k, c->list.v[k].thread == add->thread &&
				    c->list.v[k].name == add->name &&
				    c->list.v[k].is_idle == add->is_idle);
	if (i == HASHINDEX_NONE)
		return VEC_RESERVE(&c->list, 1) &&
		       hashindex_add(&c->index, hash, (uint32_t)c->list.n) &&
		       VEC_PUSH(&c->list, *add);
	struct top_tally_cell *cell = &c->list.v[i];
	cell->flat = model_add(cell->flat, add->flat);
	cell->cum = model_add(cell->cum, add->cum);
	return true;
}

static bool cells_join(struct top_tally_cells *to, const struct top_tally_cells *from)
{
	for (size_t i = 0; i < from->list.n; i++)
		if (!cells_add(to, &from->list.v[i]))
			return false;
	return true;
}

/* ---- set-up and end ------------------------------------------------------------------- */

int top_tally_init(struct top_tally *t, size_t window, struct err *e)
{
	*t = (struct top_tally){ .window = window };
	return strtab_init(&t->strings, NULL) < 0 ? no_memory(e) : 0;
}

static void locks_done(struct top_tally_locks *l)
{
	cells_done(&l->waiters);
	cells_done(&l->holders);
}

static void step_done(struct top_tally_step *s)
{
	locks_done(&s->locks);
	cells_done(&s->cells);
	cells_done(&s->states);
	free(s->part.data);
	*s = (struct top_tally_step){ 0 };
}

void top_tally_clear(struct top_tally *t)
{
	cells_done(&t->total);
	cells_done(&t->states);
	locks_done(&t->locks);
	for (size_t i = 0; i < t->steps.n; i++)
		step_done(&t->steps.v[i]);
	for (size_t i = 0; i < t->older.n; i++)
		free(t->older.v[i].data);
	VEC_FREE(&t->steps);
	VEC_FREE(&t->older);
	t->total_ns = 0;
}

void top_tally_done(struct top_tally *t)
{
	top_tally_clear(t);
	VEC_FREE(&t->threads);
	strtab_done(&t->strings);
}

/* ---- one refresh ------------------------------------------------------------------ */

static const char *find_label(const struct model *m, uint32_t set, const char *key)
{
	const struct model_labels *l = &m->labels[set];
	for (uint32_t i = 0; i < l->n; i++)
		if (strcmp(model_string(m, m->label[l->first + i].key), key) == 0)
			return model_string(m, m->label[l->first + i].str);
	return "";
}

/* The thread of a label set; the newest name of a thread counts. */
static uint32_t find_thread(struct top_tally *t, const struct model *m, uint32_t set)
{
	const char *name = find_label(m, set, "thread_name");
	uint32_t tid = strtab_add_cstr(&t->strings, find_label(m, set, "tid"));
	for (uint32_t i = 0; i < t->threads.n; i++) {
		if (t->threads.v[i].tid != tid)
			continue;
		if (*name)
			t->threads.v[i].name = strtab_add_cstr(&t->strings, name);
		return i;
	}
	struct top_tally_thread new = { tid, strtab_add_cstr(&t->strings, name) };
	return VEC_PUSH(&t->threads, new) ? (uint32_t)t->threads.n - 1 : TOP_TALLY_ALL;
}

/* of: the sample's thread and time. */
static bool add_lock(struct top_tally *t, struct top_tally_step *s, const struct model *m,
		     uint32_t set, struct top_tally_cell of)
{
	const char *lock = find_label(m, set, "lock"), *holder = find_label(m, set, "holder");
	if (!*lock)
		return true;
	of.name = strtab_add_cstr(&t->strings, lock);
	struct top_tally_cell held = of;
	held.thread = of.name;
	held.name = strtab_add_cstr(&t->strings, holder);
	return cells_add(&s->locks.waiters, &of) &&
	       (!*holder || cells_add(&s->locks.holders, &held));
}

static bool add_samples(struct top_tally *t, struct top_tally_step *s, const struct model *m,
			const struct filter *f, const struct rows *r, uint32_t type)
{
	CLEANUP_FREE uint32_t *seen = calloc((size_t)r->n_rows + 1, sizeof(*seen));
	CLEANUP_FREE uint32_t *name = calloc((size_t)r->n_rows + 1, sizeof(*name));
	CLEANUP_FREE uint32_t *thread = calloc((size_t)m->n_label_sets + 1, sizeof(*thread));
	CLEANUP_FREE unsigned char *waits = NULL;
	if (!seen || !name || !thread || waiting_sets(m, &waits) < 0)
		return false;
	for (uint32_t i = 0; i < r->n_rows; i++)
		name[i] = strtab_add_cstr(&t->strings, r->row[i].name);
	for (uint32_t i = 0; i < m->n_label_sets; i++)
		thread[i] = TOP_TALLY_ALL;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		uint32_t set = m->sample[i].labels;
		if (thread[set] == TOP_TALLY_ALL)
			thread[set] = find_thread(t, m, set);
		int64_t value = model_value(m, i, type);
		bool is_idle = waits && waits[set] & WAITING_IDLE;
		const char *state = waits ? find_label(m, set, "state") : "";
		struct top_tally_cell of_state = {
			.thread = thread[set], .is_idle = is_idle, .flat = value,
			.name = *state ? strtab_add_cstr(&t->strings, state) : 0,
		};
		if ((*state && !cells_add(&s->states, &of_state)) ||
		    !add_lock(t, s, m, set, of_state))
			return false;
		struct rows_walk w = rows_begin(r, m, f, i);
		while (rows_next(&w)) {
			int64_t cum = seen[w.row] == i + 1 ? 0 : value;
			seen[w.row] = i + 1;
			struct top_tally_cell cell = {
				.thread = thread[set], .name = name[w.row], .is_idle = is_idle,
				.flat = w.is_flat ? value : 0, .cum = cum,
			};
			if ((cell.flat || cum) && !cells_add(&s->cells, &cell))
				return false;
		}
	}
	return true;
}

static int read_step(struct top_tally *t, struct top_tally_step *s, struct err *e)
{
	static const struct filter_spec all = { .keep_idle = true };
	CLEANUP(model_freep) struct model *m = NULL;
	CLEANUP(filter_freep) struct filter *f = NULL;
	CLEANUP(rows_freep) struct rows *rows = NULL;
	uint32_t type;
	int r = model_read(s->part.data, s->part.n_bytes, &m, e);
	if (r < 0)
		return r;
	r = model_find_type(m, NULL, &type, e);
	if (r < 0)
		return r;
	r = filter_new(m, &all, &f, e);
	if (r < 0)
		return r;
	r = rows_new(m, f, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	return add_samples(t, s, m, f, rows, type) ? 0 : no_memory(e);
}

static int merge_older(struct top_tally *t, struct err *e)
{
	/* Leave out the comments: each refresh has its own, which would add up. */
	static const char *const no_comment[1];
	const struct model_some all = { .comment = no_comment };
	struct membuf b = { 0 };
	CLEANUP(model_freep) struct model *m = NULL;
	size_t n_new = 0;
	for (size_t i = 1; i < t->older.n; i++)
		n_new += t->older.v[i].n_bytes;
	if (t->older.n < MERGE_MIN || n_new < t->older.v[0].n_bytes)
		return 0;
	CLEANUP_FREE struct model_part *part = calloc(t->older.n, sizeof(*part));
	if (!part)
		return no_memory(e);
	for (size_t i = 0; i < t->older.n; i++)
		part[i] = (struct model_part){ t->older.v[i].data, t->older.v[i].n_bytes };
	int r = model_read_parts(part, t->older.n, &m, e);
	if (r < 0)
		return r;
	r = model_write_some(m, &all, membuf_write, &b, ZLIB_FAST, e);
	if (r < 0) {
		VEC_FREE(&b.bytes);
		return r;
	}
	for (size_t i = 0; i < t->older.n; i++)
		free(t->older.v[i].data);
	t->older.n = 1;
	t->older.v[0] = (struct top_tally_part){ b.bytes.v, b.bytes.n };
	return 0;
}

static int leave_window(struct top_tally *t, struct err *e)
{
	struct top_tally_step *s = &t->steps.v[0];
	if (s->part.data && !VEC_PUSH(&t->older, s->part))
		return no_memory(e);
	s->part.data = NULL;
	step_done(s);
	t->steps.n--;
	memmove(t->steps.v, t->steps.v + 1, t->steps.n * sizeof(*t->steps.v));
	return merge_older(t, e);
}

int top_tally_add(struct top_tally *t, struct top_tally_part part, uint64_t duration_ns,
		  struct err *e)
{
	struct top_tally_step s = { .part = part, .duration_ns = duration_ns };
	int r = part.data ? read_step(t, &s, e) : 0;
	if (r < 0) {
		step_done(&s);
		return r;
	}
	if (!VEC_PUSH(&t->steps, s)) {
		step_done(&s);
		return no_memory(e);
	}
	t->total_ns += duration_ns;
	if (!cells_join(&t->total, &s.cells) || !cells_join(&t->states, &s.states) ||
	    !cells_join(&t->locks.waiters, &s.locks.waiters) ||
	    !cells_join(&t->locks.holders, &s.locks.holders))
		return no_memory(e);
	return t->steps.n > t->window ? leave_window(t, e) : 0;
}

uint64_t top_tally_last_ns(const struct top_tally *t)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < t->steps.n; i++)
		sum += t->steps.v[i].duration_ns;
	return sum;
}

/* ---- everything as one profile ------------------------------------------------------------ */

int top_tally_write(const struct top_tally *t, uint32_t thread, const char *comment,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct err *e)
{
	struct model_some some = { .comment = &comment, .n_comments = 1 };
	CLEANUP_FREE struct model_part *part = calloc(t->older.n + t->steps.n + 1, sizeof(*part));
	CLEANUP_FREE bool *out = NULL;
	CLEANUP(model_freep) struct model *m = NULL;
	size_t n = 0, n_left = 0;
	if (!part)
		return no_memory(e);
	for (size_t i = 0; i < t->older.n; i++)
		part[n++] = (struct model_part){ t->older.v[i].data, t->older.v[i].n_bytes };
	for (size_t i = 0; i < t->steps.n; i++) {
		const struct top_tally_part *p = &t->steps.v[i].part;
		if (p->data)
			part[n++] = (struct model_part){ p->data, p->n_bytes };
	}
	if (n == 0)
		return err_set(e, ENODATA, "there are no samples yet");
	int r = model_read_parts(part, n, &m, e);
	if (r < 0)
		return r;
	out = calloc((size_t)m->n_samples + 1, sizeof(*out));
	if (!out)
		return no_memory(e);
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const char *tid = find_label(m, m->sample[i].labels, "tid");
		out[i] = thread != TOP_TALLY_ALL &&
			 strcmp(tid, strtab_get(&t->strings, t->threads.v[thread].tid)) != 0;
		n_left += !out[i];
	}
	/* The time includes refreshes without samples, which have no profile. */
	m->duration_ns = (int64_t)t->total_ns;
	some.sample_out = out;
	if (n_left == 0)
		return err_set(e, ENODATA, "this thread has no samples yet");
	return model_write_some(m, &some, write, ctx, ZLIB_DEFAULT, e);
}
