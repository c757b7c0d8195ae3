/*
 * A window is read in this order: all goroutines, then the stacks and labels of those that do not
 * run, then all goroutines again.  A goroutine has not moved if its state, number, stack, registers
 * and the count of its switches are the same in both readings.  All of these were at their places
 * at one instant: when the first reading had ended.  Others are read one at a time, goroutine,
 * stack, goroutine, a number of times.
 *
 * The labels of a goroutine do not change while it has them.  If its pointer to them is the same in
 * both readings, so were they.
 */

#include "snapshot/gocapture.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolize/runtime/go-labels.h"
#include "symbolize/runtime/go-program.h"
#include "symbolize/runtime/runtime-memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of one process_vm_readv: IOV_MAX is 1024. */
#define BATCH 512u
#define BATCH_BYTES_MAX (1u << 20)      /* what a helper process can pass on: remotemem.h */
#define TRIES_MAX 20u
#define MOVERS_NS_MAX 2000000000u       /* for all that are read one at a time */
#define GOROUTINE struct gocapture_goroutine

static size_t g_bytes(const struct gocapture *c)
{
	return go_layout_g_bytes(&c->program->layout);
}

/* Reads n pieces, all at once or, if that fails, each on its own.  is_read[i]: piece i is whole. */
static void read_pieces(const struct runtime_memory *m, const struct iovec *local,
			const struct iovec *remote, size_t n, bool *is_read)
{
	long n_bytes = 0;
	for (size_t i = 0; i < n; i++)
		n_bytes += (long)local[i].iov_len;
	bool are_read = n && m->read(m->ctx, local, n, remote, n) == n_bytes;
	for (size_t i = 0; i < n; i++)
		is_read[i] = are_read || m->read(m->ctx, &local[i], 1, &remote[i], 1) ==
						 (long)local[i].iov_len;
}

static bool read_g(const struct gocapture *c, uint64_t at, struct go_g *ret)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	if (!runtime_memory_read(c->memory, at, b, g_bytes(c)))
		return false;
	go_g_decode(&c->program->layout, b, ret);
	return go_g_is_plausible(ret);
}

/* ---- the list ---------------------------------------------------------------------------- */

int gocapture_begin(struct gocapture *c, const struct go_program *program,
		    const struct runtime_memory *memory)
{
	struct go_slice s;
	c->program = program;
	c->memory = memory;
	c->max_goroutines = c->max_goroutines ? c->max_goroutines : GOCAPTURE_GOROUTINES_DEFAULT;
	c->max_stack_bytes =
		c->max_stack_bytes ? c->max_stack_bytes : GOCAPTURE_STACK_BYTES_DEFAULT;
	c->max_window_bytes =
		c->max_window_bytes ? c->max_window_bytes : GOCAPTURE_WINDOW_BYTES_DEFAULT;
	c->from_ns = clock_monotonic_ns();
	if (!runtime_memory_read(memory, program->allgs, &s, sizeof(s)) || s.n > s.cap ||
	    s.n > GO_PLACES_GOROUTINES_MAX)
		return -EFAULT;
	size_t n = s.n < c->max_goroutines ? s.n : c->max_goroutines;
	c->n_total = s.n;
	c->n_left_out = s.n - n;
	c->raw = malloc(BATCH * g_bytes(c));
	if (!c->raw || !VEC_EXTEND(&c->list, n))
		return -ENOMEM;
	if (n && !runtime_memory_read(memory, s.at, c->list.v, n * sizeof(*c->list.v)))
		return -EFAULT;
	return 0;
}

void gocapture_done(struct gocapture *c)
{
	VEC_FREE(&c->goroutines);
	VEC_FREE(&c->stacks);
	VEC_FREE(&c->labels);
	VEC_FREE(&c->text);
	VEC_FREE(&c->list);
	free(c->raw);
	c->raw = NULL;
}

/* ---- goroutines -------------------------------------------------------------------------- */

/* Reads n goroutines at at[0], at[stride / 8] ... into c->raw. */
static void read_batch(struct gocapture *c, const uint64_t *at, size_t stride, size_t n,
		       bool is_read[BATCH])
{
	struct iovec local[BATCH], remote[BATCH];
	size_t n_bytes = g_bytes(c);
	for (size_t i = 0; i < n; i++) {
		uint64_t address;
		memcpy(&address, (const uint8_t *)at + i * stride, sizeof(address));
		local[i] = (struct iovec){ c->raw + i * n_bytes, n_bytes };
		remote[i] = (struct iovec){ (void *)(uintptr_t)address, n_bytes };
	}
	read_pieces(c->memory, local, remote, n, is_read);
}

/* How much of the stack is copied; 0: it has no stack that could be read. */
static size_t stack_bytes(const struct gocapture *c, const struct go_g *g, bool *ret_is_cut)
{
	*ret_is_cut = false;
	if (g->status == GO_RUNNING || g->status == GO_COPYSTACK || g->sp < g->lo || g->sp >= g->hi)
		return 0;
	*ret_is_cut = g->hi - g->sp > c->max_stack_bytes;
	return *ret_is_cut ? c->max_stack_bytes : g->hi - g->sp;
}

/* Adds the goroutines of the list from c->next on, until their stacks fill a window. */
static int first_reading(struct gocapture *c)
{
	bool is_read[BATCH];
	uint64_t n_window_bytes = 0;
	while (c->next < c->list.n && n_window_bytes < c->max_window_bytes) {
		size_t n = c->list.n - c->next < BATCH ? c->list.n - c->next : BATCH;
		if (!VEC_RESERVE(&c->goroutines, n))
			return -ENOMEM;
		read_batch(c, c->list.v + c->next, sizeof(uint64_t), n, is_read);
		for (size_t i = 0; i < n && n_window_bytes < c->max_window_bytes; i++, c->next++) {
			GOROUTINE r = { .at = c->list.v[c->next], .labels = GOCAPTURE_NO_LABELS };
			if (!is_read[i])
				continue;
			go_g_decode(&c->program->layout, c->raw + i * g_bytes(c), &r.g);
			if (!go_g_is_alive(&r.g) ||
			    (c->is_wanted && !c->is_wanted(c->wanted_ctx, &r.g)))
				continue;
			bool is_plausible = go_g_is_plausible(&r.g);
			size_t n_bytes = is_plausible ? stack_bytes(c, &r.g, &r.is_cut) : 0;
			r.how = n_bytes ? GOCAPTURE_STEADY :
				r.g.status == GO_RUNNING ? GOCAPTURE_RUNNING : GOCAPTURE_MOVING;
			r.n_stack_bytes = (uint32_t)n_bytes;
			n_window_bytes += n_bytes;
			c->goroutines.v[c->goroutines.n++] = r;
		}
	}
	return 0;
}

/* ---- stacks ------------------------------------------------------------------------------ */

static int read_stacks(struct gocapture *c)
{
	struct iovec local[BATCH], remote[BATCH];
	GOROUTINE *of[BATCH];
	bool is_read[BATCH];
	uint64_t now = clock_monotonic_ns();
	size_t n_all = 0;
	for (size_t i = 0; i < c->goroutines.n; i++) {
		GOROUTINE *r = &c->goroutines.v[i];
		r->stack_off = n_all;
		r->time_ns = now;
		n_all += r->n_stack_bytes;
	}
	c->stacks.n = 0;
	if (!VEC_RESERVE(&c->stacks, n_all))
		return -ENOMEM;
	c->stacks.n = n_all;
	for (size_t i = 0; i < c->goroutines.n;) {
		size_t n = 0, n_bytes = 0;
		for (; i < c->goroutines.n && n < BATCH; i++) {
			GOROUTINE *r = &c->goroutines.v[i];
			if (n && n_bytes + r->n_stack_bytes > BATCH_BYTES_MAX)
				break;
			if (!r->n_stack_bytes)
				continue;
			of[n] = r;
			local[n] = (struct iovec){ c->stacks.v + r->stack_off, r->n_stack_bytes };
			remote[n++] = (struct iovec){ (void *)(uintptr_t)r->g.sp,
						      r->n_stack_bytes };
			n_bytes += r->n_stack_bytes;
		}
		read_pieces(c->memory, local, remote, n, is_read);
		for (size_t k = 0; k < n; k++)
			if (!is_read[k])
				of[k]->how = GOCAPTURE_MOVING;
	}
	return 0;
}

/* ---- labels ------------------------------------------------------------------------------ */

/* Adds a set of labels; GOCAPTURE_NO_LABELS: it is malformed, or memory is short. */
static uint32_t add_labels(struct gocapture *c, uint64_t at, struct go_labels *l)
{
	struct gocapture_labels set = { .at = at, .off = c->text.n };
	if (!go_labels_read(c->memory, c->program->layout.label_format, at, l))
		return GOCAPTURE_NO_LABELS;
	for (; set.n < l->n; set.n++) {
		const char *key = go_labels_text(l, l->label[set.n].key);
		const char *value = go_labels_text(l, l->label[set.n].value);
		size_t n_key = strlen(key) + 1, n_value = strlen(value) + 1;
		if (!VEC_RESERVE(&c->text, n_key + n_value))
			return GOCAPTURE_NO_LABELS;
		memcpy(c->text.v + c->text.n, key, n_key);
		memcpy(c->text.v + c->text.n + n_key, value, n_value);
		c->text.n += n_key + n_value;
	}
	return VEC_PUSH(&c->labels, set) ? (uint32_t)c->labels.n - 1 : GOCAPTURE_NO_LABELS;
}

static int by_labels(const void *a, const void *b, void *goroutines)
{
	const GOROUTINE *v = goroutines;
	uint64_t x = v[*(const uint32_t *)a].g.labels, y = v[*(const uint32_t *)b].g.labels;
	return x < y ? -1 : x > y;
}

/* Each set is read once, even if many goroutines have it. */
static int read_labels(struct gocapture *c)
{
	struct go_labels l = { 0 };
	CLEANUP_FREE uint32_t *order = NULL;
	size_t n = 0;
	for (size_t i = 0; i < c->goroutines.n; i++)
		n += c->goroutines.v[i].g.labels != 0;
	if (!n)
		return 0;
	order = malloc(n * sizeof(*order));
	if (!order)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < c->goroutines.n; i++)
		if (c->goroutines.v[i].g.labels)
			order[n++] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_labels, c->goroutines.v);
	uint32_t set = GOCAPTURE_NO_LABELS;
	for (size_t i = 0; i < n; i++) {
		GOROUTINE *r = &c->goroutines.v[order[i]];
		if (!i || r->g.labels != c->goroutines.v[order[i - 1]].g.labels)
			set = add_labels(c, r->g.labels, &l);
		r->labels = set;
		c->n_bad_labels += set == GOCAPTURE_NO_LABELS;
	}
	go_labels_done(&l);
	return 0;
}

/* ---- what has moved ---------------------------------------------------------------------- */

/* Marks what is not as it was in the first reading. */
static void second_reading(struct gocapture *c)
{
	bool is_read[BATCH];
	for (size_t first = 0; first < c->goroutines.n; first += BATCH) {
		GOROUTINE *r = c->goroutines.v + first;
		size_t n = c->goroutines.n - first < BATCH ? c->goroutines.n - first : BATCH;
		struct go_g g;
		read_batch(c, &r->at, sizeof(*r), n, is_read);
		for (size_t i = 0; i < n; i++) {
			if (is_read[i])
				go_g_decode(&c->program->layout, c->raw + i * g_bytes(c), &g);
			if (is_read[i] && go_g_is_same(&g, &r[i].g))
				continue;
			r[i].how = GOCAPTURE_MOVING;
			c->n_moved++;
		}
	}
}

/* Reads a goroutine and its stack until it does not move meanwhile; -ENOMEM. */
static int read_again(struct gocapture *c, GOROUTINE *r, struct go_labels *l)
{
	struct go_g g, then;
	uint64_t goid = r->g.goid;
	for (unsigned int i = 0; i < TRIES_MAX; i++) {
		if (!read_g(c, r->at, &g))
			continue;
		if (!go_g_is_alive(&g) || g.goid != goid) {
			r->how = GOCAPTURE_ENDED;
			return 0;
		}
		size_t n = stack_bytes(c, &g, &r->is_cut), off = c->stacks.n;
		if (g.status == GO_RUNNING && i + 1 == TRIES_MAX) {
			r->g = g;
			r->how = GOCAPTURE_RUNNING;
			r->time_ns = clock_monotonic_ns();
		}
		if (!n)
			continue;
		if (!VEC_RESERVE(&c->stacks, n))
			return -ENOMEM;
		if (!runtime_memory_read(c->memory, g.sp, c->stacks.v + off, n))
			continue;
		uint64_t now = clock_monotonic_ns();
		size_t n_labels = c->labels.n;
		uint32_t labels = g.labels ? add_labels(c, g.labels, l) : GOCAPTURE_NO_LABELS;
		if (!read_g(c, r->at, &then) || !go_g_is_same(&g, &then)) {
			c->labels.n = n_labels;
			continue;
		}
		c->n_bad_labels += g.labels && labels == GOCAPTURE_NO_LABELS;
		c->stacks.n += n;
		*r = (GOROUTINE){ .g = g, .at = r->at, .stack_off = off, .is_cut = r->is_cut,
			.n_stack_bytes = (uint32_t)n, .labels = labels, .how = GOCAPTURE_AGAIN,
			.time_ns = now };
		return 0;
	}
	return 0;
}

static int read_movers(struct gocapture *c)
{
	struct go_labels l = { 0 };
	int code = 0;
	c->deadline_ns = c->deadline_ns ? c->deadline_ns : clock_monotonic_ns() + MOVERS_NS_MAX;
	for (size_t i = 0; i < c->goroutines.n && code == 0; i++) {
		GOROUTINE *r = &c->goroutines.v[i];
		if (r->how != GOCAPTURE_MOVING)
			continue;
		r->labels = GOCAPTURE_NO_LABELS;
		r->n_stack_bytes = 0;
		if (clock_monotonic_ns() < c->deadline_ns)
			code = read_again(c, r, &l);
	}
	go_labels_done(&l);
	return code;
}

/* ---- threads and bubbles ----------------------------------------------------------------- */

/* The threads of goroutines that are on one, or bound to one, and the bubbles of some. */
static void read_others(struct gocapture *c)
{
	const struct go_layout *o = &c->program->layout;
	uint64_t x;
	for (size_t i = 0; i < c->goroutines.n; i++) {
		GOROUTINE *r = &c->goroutines.v[i];
		uint64_t m = r->g.m ? r->g.m : r->g.locked_m;
		if (m && runtime_memory_read(c->memory, m + o->m_proc_id, &x, sizeof(x)) &&
		    x < UINT32_MAX)
			r->tid = (uint32_t)x;
		if (r->g.bubble && o->bubble_id &&
		    runtime_memory_read(c->memory, r->g.bubble + o->bubble_id, &x, sizeof(x)))
			r->bubble = x;
	}
}

int gocapture_next(struct gocapture *c)
{
	struct go_slice s;
	c->goroutines.n = 0;
	c->labels.n = 0;
	c->text.n = 0;
	if (c->next >= c->list.n)
		return 0;
	int code = first_reading(c);
	code = code < 0 ? code : read_stacks(c);
	code = code < 0 ? code : read_labels(c);
	if (code < 0)
		return code;
	second_reading(c);
	code = read_movers(c);
	if (code < 0)
		return code;
	read_others(c);
	c->to_ns = clock_monotonic_ns();
	c->n_windows++;
	/* nothing of a program that has ended can be read */
	return runtime_memory_read(c->memory, c->program->allgs, &s, sizeof(s)) ? 1 : -ESRCH;
}

int gocapture_again(struct gocapture *c, size_t i)
{
	struct go_labels l = { 0 };
	int code = read_again(c, &c->goroutines.v[i], &l);
	go_labels_done(&l);
	return code;
}
