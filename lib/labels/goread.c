/*
 * A register of C code may hold anything.  What it points to counts as a goroutine if the fields
 * that depend on each other agree.  A g stays where it is as long as the program runs.
 *
 * A thread's m is known from a g of the thread: that of Go code that was sampled, or any in the
 * list of all goroutines that is on a thread.
 */
#include "labels/goread.h"

#include "base/clock.h"
#include "base/hash.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 65536u
#define BORN_MAX 65536u
/* Places without a sample for this time are not read. */
#define RECENT_NS 500000000u
/* Samples are never older than this when they are looked up. */
#define LATE_NS 2000000000u
/* The list of all goroutines is read at most this often. */
#define LIST_NS 200000000u
#define LIST_MAX 4096u
#define GOID_MAX (1ull << 48)
#define M_BYTES_MAX 512u
/* The runtime enters goexit's second instruction as the return address of the first function. */
#define GOEXIT_BYTES 4u
/* After this time a known set is compared again. */
#define SETS_NS 1000000u

static const struct goread_place fresh = { .piece = GOPIECES_NONE };

/* ---- places ------------------------------------------------------------------------------ */

static struct goread_place *find(struct goread_places *p, uint64_t key)
{
	uint32_t i = HASHINDEX_FIND(&p->by_key, hash_u64(key), id, p->v.v[id].key == key);
	return i == HASHINDEX_NONE ? NULL : &p->v.v[i];
}

static struct goread_place *add(struct goread_places *p, uint64_t key)
{
	if (p->v.n >= PLACES_MAX || !VEC_RESERVE(&p->v, 1) ||
	    !hashindex_add(&p->by_key, hash_u64(key), (uint32_t)p->v.n))
		return NULL;
	p->v.v[p->v.n] = fresh;
	p->v.v[p->v.n].key = p->v.v[p->v.n].at = key;
	return &p->v.v[p->v.n++];
}

static void places_done(struct goread_places *p)
{
	for (size_t i = 0; i < p->v.n; i++)
		gotimes_done(&p->v.v[i].times);
	VEC_FREE(&p->v);
	hashindex_done(&p->by_key);
}

/* If memory is short, more is forgotten. */
static void places_trim(struct goread_places *p, uint64_t since_ns)
{
	struct goread_places kept = { .by_key = { 0 } };
	for (size_t i = 0; i < p->v.n; i++) {
		struct goread_place *x = p->v.v[i].used_ns >= since_ns ? add(&kept, p->v.v[i].key)
								       : NULL;
		if (x)
			*x = p->v.v[i];
		else
			gotimes_done(&p->v.v[i].times);
	}
	VEC_FREE(&p->v);
	hashindex_done(&p->by_key);
	*p = kept;
}

void goread_init(struct goread *r, const struct runtime_memory *memory, struct gopieces *pieces,
		 const struct go_layout *layout)
{
	*r = (struct goread){ .memory = memory, .pieces = pieces, .layout = *layout };
}

void goread_done(struct goread *r)
{
	places_done(&r->gs);
	places_done(&r->threads);
	VEC_FREE(&r->born);
	gosets_done(&r->sets);
}

void goread_trim(struct goread *r, uint64_t since_ns)
{
	places_trim(&r->gs, since_ns);
	places_trim(&r->threads, since_ns);
	gosets_clear(&r->sets);
}

void goread_each_set(struct goread *r, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < r->gs.v.n; i++)
		gotimes_each_set(&r->gs.v.v[i].times, each, ctx);
}

static size_t places_bytes(const struct goread_places *p)
{
	size_t n = p->v.cap * sizeof(*p->v.v) + p->by_key.n_slots * sizeof(*p->by_key.slot);
	for (size_t i = 0; i < p->v.n; i++)
		n += p->v.v[i].times.event.cap * sizeof(*p->v.v[i].times.event.v);
	return n;
}

size_t goread_n_bytes(const struct goread *r)
{
	return places_bytes(&r->gs) + places_bytes(&r->threads) + r->sets.n_bytes +
	       r->born.cap * sizeof(*r->born.v);
}

/* ---- what was read ----------------------------------------------------------------------- */

static uint64_t floor_ns(const struct goread *r)
{
	return r->read_ns > LATE_NS ? r->read_ns - LATE_NS : 0;
}

static uint64_t word(const uint8_t *bytes, unsigned int off)
{
	uint64_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

static size_t m_bytes(const struct go_layout *l)
{
	return (l->m_curg > l->m_proc_id ? l->m_curg : l->m_proc_id) + 8u;
}

/* Could it be a g of a thread's own stacks? */
static bool is_system(const struct go_g *g)
{
	return !g->goid && g->m && g->m % 8 == 0 && g->hi > g->lo && g->status < GO_N_STATUS;
}

/* A g at a moment between the two times. */
static void note_g(struct goread *r, struct goread_place *x, const uint8_t *bytes,
		   uint64_t before_ns, uint64_t after_ns)
{
	struct go_g g;
	struct gotimes_reading reading = { .before_ns = before_ns, .after_ns = after_ns,
					   .set = GOTIMES_UNKNOWN, .reported_ns = r->reported_ns,
					   .births_ns = r->births_ns };
	if (bytes) {
		go_g_decode(&r->layout, bytes, &g);
		x->is_system = is_system(&g);
		x->lo = g.lo;
		x->hi = g.hi;
		x->m = g.m;
		x->labels = g.labels;
		reading.who = go_g_is_plausible(&g) || g.status == GO_DEAD ? g.goid : 0;
		reading.is_dead = !go_g_is_alive(&g);
		if (reading.who && !reading.is_dead)
			reading.set = gosets_get(&r->sets, r->memory, g.labels);
		r->has_labels |= reading.who && g.labels;
	}
	if (gotimes_read(&x->times, &reading, floor_ns(r)) == GOTIMES_MISSED)
		r->n_missed++;
}

/* An m: which g does the thread run? */
static void note_thread(struct goread *r, struct goread_place *x, const uint8_t *bytes,
			uint64_t before_ns, uint64_t after_ns)
{
	struct gotimes_reading reading = { .before_ns = before_ns, .after_ns = after_ns };
	bool is_its = bytes && word(bytes, r->layout.m_proc_id) == x->key;
	if (is_its)
		reading.who = word(bytes, r->layout.m_curg);
	gotimes_read(&x->times, &reading, floor_ns(r));
}

/* ---- all that is needed ------------------------------------------------------------------- */

static void queue(struct goread *r, struct goread_places *p, size_t n_bytes)
{
	for (size_t i = 0; i < p->v.n; i++) {
		struct goread_place *x = &p->v.v[i];
		x->piece = x->used_ns + RECENT_NS > r->newest_ns
				   ? gopieces_add(r->pieces, x->at, n_bytes) : GOPIECES_NONE;
	}
}

/* The bytes of a place that was queued. */
static const uint8_t *take(struct goread *r, struct goread_place *x)
{
	const uint8_t *bytes = gopieces_get(r->pieces, x->piece);
	x->piece = GOPIECES_NONE;
	return bytes;
}

bool goread_all(struct goread *r)
{
	size_t n_read = 0, n_queued = 0;
	gopieces_start(r->pieces);
	gosets_begin(&r->sets);
	queue(r, &r->threads, m_bytes(&r->layout));
	queue(r, &r->gs, go_layout_g_bytes(&r->layout));
	for (size_t i = 0; i < r->gs.v.n; i++)
		if (r->gs.v.v[i].piece != GOPIECES_NONE)
			gosets_queue(&r->sets, r->gs.v.v[i].labels, r->pieces);
	uint64_t before_ns = clock_monotonic_ns();
	gopieces_read(r->pieces, r->memory);
	uint64_t after_ns = clock_monotonic_ns();
	r->read_ns = before_ns;
	gosets_compare(&r->sets, r->pieces);
	if (r->changes)
		r->changes(r->ctx, r);
	for (size_t i = 0; i < r->threads.v.n; i++) {
		struct goread_place *x = &r->threads.v.v[i];
		if (x->piece != GOPIECES_NONE)
			note_thread(r, x, take(r, x), before_ns, after_ns);
	}
	for (size_t i = 0; i < r->gs.v.n; i++) {
		struct goread_place *x = &r->gs.v.v[i];
		if (x->piece == GOPIECES_NONE)
			continue;
		const uint8_t *bytes = take(r, x);
		n_queued++;
		n_read += bytes != NULL;
		note_g(r, x, bytes, before_ns, after_ns);
	}
	return !n_queued || n_read;
}

/* The g at an address, used at that time, unread if it is new.  NULL: no memory. */
static struct goread_place *use_g(struct goread *r, uint64_t at, uint64_t time_ns)
{
	struct goread_place *x = find(&r->gs, at);
	if (!x)
		x = add(&r->gs, at);
	if (x && time_ns > x->used_ns)
		x->used_ns = time_ns;
	return x;
}

void goread_change(struct goread *r, const struct goread_changed *c)
{
	struct goread_place *x = use_g(r, c->g, c->time_ns);
	if (!x)
		return;
	r->has_labels |= c->labels != 0;
	if (c->slot)
		r->entered[r->n_entered++ % GOREAD_ENTERED] =
			(struct goread_entered){ c->g, c->slot };
	gotimes_change(&x->times, &(struct gotimes_changed){
		.time_ns = c->time_ns, .set = gosets_get(&r->sets, r->memory, c->labels),
		.slot = c->slot }, floor_ns(r));
}

/* ---- inherited labels --------------------------------------------------------------------- */

bool goread_birth(struct goread *r, const struct goread_birth *b)
{
	if (r->born.n >= BORN_MAX || !VEC_RESERVE(&r->born, 1))
		return false;
	r->born.v[r->born.n++] = *b;
	return true;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct goread_birth *)a)->time_ns;
	uint64_t y = ((const struct goread_birth *)b)->time_ns;
	return (x > y) - (x < y);
}

/* A creator that is unknown is read from now on. */
static bool inherit(struct goread *r, const struct goread_birth *b)
{
	uint64_t since_ns = r->reported_ns > r->births_ns ? r->reported_ns : r->births_ns;
	struct goread_place *x = use_g(r, b->creator, b->time_ns);
	uint32_t set = x ? gotimes_owned(&x->times, b->time_ns, since_ns) : GOTIMES_UNKNOWN;
	x = find(&r->gs, b->g);
	if (!x)
		x = add(&r->gs, b->g);
	return x && gotimes_change(&x->times, &(struct gotimes_changed){
		.time_ns = b->time_ns, .set = set, .is_birth = true }, floor_ns(r));
}

void goread_inherit(struct goread *r, uint64_t until_ns)
{
	size_t n = 0;
	if (r->born.n)
		qsort(r->born.v, r->born.n, sizeof(*r->born.v), by_time);
	while (n < r->born.n && r->born.v[n].time_ns <= until_ns) {
		if (r->births_ns && !inherit(r, &r->born.v[n]))
			r->births_ns = 0;
		n++;
	}
	if (n)
		memmove(r->born.v, r->born.v + n, (r->born.n - n) * sizeof(*r->born.v));
	r->born.n -= n;
}

/* ---- one at a time ------------------------------------------------------------------------ */

/* Reads one g now. */
static void read_g(struct goread *r, struct goread_place *x)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	uint64_t key = x->key, before_ns = clock_monotonic_ns();
	bool is_read = runtime_memory_read(r->memory, key, b, go_layout_g_bytes(&r->layout));
	uint64_t after_ns = clock_monotonic_ns();
	if (before_ns - r->read_ns > SETS_NS)
		gosets_begin(&r->sets);
	if (r->changes)
		r->changes(r->ctx, r);
	x = find(&r->gs, key);
	note_g(r, x, is_read ? b : NULL, before_ns, after_ns);
}

static bool is_address(uint64_t at)
{
	return at >= 4096 && at < 1ull << 56 && at % 8 == 0;
}

/* The g at an address, read later than time_ns.  NULL: it is no g. */
static struct goread_place *g_at(struct goread *r, uint64_t at, uint64_t time_ns)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	struct go_g g;
	struct goread_place *x = is_address(at) ? find(&r->gs, at) : NULL;
	if (!x) {
		if (!is_address(at) ||
		    !runtime_memory_read(r->memory, at, b, go_layout_g_bytes(&r->layout)))
			return NULL;
		go_g_decode(&r->layout, b, &g);
		if (!is_system(&g) && !(g.goid && g.goid < GOID_MAX && go_g_is_plausible(&g)))
			return NULL;
		x = add(&r->gs, at);
	}
	if (!x)
		return NULL;
	if (time_ns > x->used_ns)
		x->used_ns = time_ns;
	if (x->times.newest_ns < time_ns)
		read_g(r, x);
	return find(&r->gs, at);
}

/* ---- threads ------------------------------------------------------------------------------ */

/* NULL: the m is not that thread's. */
static struct goread_place *add_thread(struct goread *r, uint64_t m, uint32_t tid)
{
	uint64_t id;
	if (!is_address(m) ||
	    !runtime_memory_read(r->memory, m + r->layout.m_proc_id, &id, sizeof(id)) ||
	    id != tid)
		return NULL;
	struct goread_place *x = add(&r->threads, tid);
	if (x)
		x->at = m;
	return x;
}

/* Searches the goroutines that are on a thread for the m of this one. */
static struct goread_place *list_thread(struct goread *r, uint32_t tid)
{
	uint64_t slice[3], now = clock_monotonic_ns();
	CLEANUP_VEC VEC(uint64_t) at = { 0 };
	r->wants_allgs = true;
	if (!r->allgs || now - r->listed_ns < LIST_NS)
		return NULL;
	r->listed_ns = now;
	if (!runtime_memory_read(r->memory, r->allgs, slice, sizeof(slice)) || slice[1] > slice[2])
		return NULL;
	size_t n = slice[1] < LIST_MAX ? slice[1] : LIST_MAX;
	if (!n || !VEC_EXTEND(&at, n) ||
	    !runtime_memory_read(r->memory, slice[0], at.v, n * sizeof(*at.v)))
		return NULL;
	struct goread_place *x = NULL;
	for (size_t first = 0; first < n && !x; first += GOPIECES_MAX) {
		size_t n_now = n - first < GOPIECES_MAX ? n - first : GOPIECES_MAX;
		gopieces_start(r->pieces);
		for (size_t i = 0; i < n_now; i++)
			gopieces_add(r->pieces, at.v[first + i] + r->layout.m, sizeof(uint64_t));
		gopieces_read(r->pieces, r->memory);
		for (size_t i = 0; i < n_now && !x; i++) {
			const uint8_t *m = gopieces_get(r->pieces, (uint32_t)i);
			x = m && word(m, 0) ? add_thread(r, word(m, 0), tid) : NULL;
		}
	}
	return x;
}

/* The g that the thread ran at that time; 0: unknown, or none (is_nobody). */
static uint64_t g_of_thread(struct goread *r, const struct goread_sample *s, uint64_t m,
			    struct gotimes_answer *ret)
{
	uint8_t b[M_BYTES_MAX];
	struct goread_place *x = find(&r->threads, s->tid);
	if (!x && m)
		x = add_thread(r, m, s->tid);
	if (!x)
		x = list_thread(r, s->tid);
	if (!x)
		return 0;
	x->used_ns = s->time_ns > x->used_ns ? s->time_ns : x->used_ns;
	if (x->times.newest_ns < s->time_ns && m_bytes(&r->layout) <= sizeof(b)) {
		uint64_t now = clock_monotonic_ns();
		bool is_read = runtime_memory_read(r->memory, x->at, b, m_bytes(&r->layout));
		note_thread(r, x, is_read ? b : NULL, now, clock_monotonic_ns());
	}
	return gotimes_at(&x->times, s->time_ns, ret) == GOTIMES_NOTHING ? 0 : ret->who;
}

/* ---- samples ------------------------------------------------------------------------------ */

/* The word of the sample's stack at an address; 0: it is not in the copy. */
static uint64_t stack_word(const struct goread_sample *s, uint64_t at)
{
	uint64_t off = at - s->sp;
	return off < s->n_stack_bytes && s->n_stack_bytes - off >= 8 ? word(s->stack, (uint32_t)off)
								     : 0;
}

/* Where the goroutine's stack ends in the sample: its first function returns to goexit.  The copy
 * may go on with the stack of another one. */
static uint64_t stack_end(const struct goread *r, const struct goread_sample *s)
{
	uint64_t at = s->sp, end = s->sp + (s->n_stack_bytes & ~UINT64_C(7));
	while (at < end && stack_word(s, at) - r->code.goexit > GOEXIT_BYTES)
		at += 8;
	return at;
}

/* Code in assembly uses the register of g for other things.  But its stack still has the frame of
 * pprof.Do from which a goroutine has entered. */
static bool find_by_stack(struct goread *r, const struct goread_sample *s,
			  struct gotimes_answer *ret)
{
	uint64_t end = r->n_entered && r->code.goexit ? stack_end(r, s) : s->sp;
	for (uint32_t i = 0; i < GOREAD_ENTERED && i < r->n_entered; i++) {
		const struct goread_entered e = r->entered[(r->n_entered - 1 - i) % GOREAD_ENTERED];
		if (e.slot < s->sp || e.slot >= end ||
		    stack_word(s, e.slot) - r->code.do_at >= r->code.do_end - r->code.do_at)
			continue;
		struct goread_place *x = g_at(r, e.g, s->time_ns);
		if (x && gotimes_at(&x->times, s->time_ns, ret) == GOTIMES_EXACT &&
		    ret->slot == e.slot)
			return true;
	}
	*ret = (struct gotimes_answer){ .set = GOTIMES_UNKNOWN };
	return false;
}

enum gotimes_how goread_at(struct goread *r, const struct goread_sample *s,
			   struct gotimes_answer *ret)
{
	*ret = (struct gotimes_answer){ .set = GOTIMES_UNKNOWN };
	if (s->time_ns > r->newest_ns)
		r->newest_ns = s->time_ns;
	struct goread_place *x = s->g ? g_at(r, s->g, s->time_ns) : NULL;
	if (x && !x->is_system)
		return gotimes_at(&x->times, s->time_ns, ret);
	if (!x && find_by_stack(r, s, ret))
		return GOTIMES_EXACT;
	/* Another stack, or C code. */
	bool is_signal = x != NULL;
	uint64_t at = g_of_thread(r, s, x ? x->m : 0, ret);
	x = at ? g_at(r, at, s->time_ns) : NULL;
	if (!x || x->is_system)
		return GOTIMES_NOTHING;
	bool is_its_stack = s->sp >= x->lo && s->sp < x->hi;
	/* Without the register, only the stack proves that it is still in that goroutine. */
	if (!s->g && !is_its_stack && !is_signal)
		return GOTIMES_NOTHING;
	enum gotimes_how how = gotimes_at(&x->times, s->time_ns, ret);
	return how == GOTIMES_EXACT && (s->g || !is_its_stack) ? GOTIMES_LATE : how;
}
