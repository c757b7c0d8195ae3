/*
 * The pieces of code of a process are ranges, sorted by address.  A piece is proven by a few bytes
 * of the process's memory that are the same as long as the code is: all pieces that were met lately
 * are proven together at the first sample after a tick, each other one when it is next met.  A
 * piece that is not the same any more stays as a mark of its layer, until new code covers it.
 *
 * When code is first met, it may have come after the sample.  It is believed to be older only if it
 * is met promptly.  Numbers of compilations do not help: they are given before compiling begins.
 *
 * Memory that was sampled is a hostile program's to choose.  So what is read is bounded by the
 * runtime's reader, the time by TICK_NS_MAX, what is kept by n_bytes_max, and an address without
 * code is not asked about again before the next tick.
 */

#include "proc/livecode.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A stack that is not looked up again because it has not changed is at most that old: jit.c. */
#define RECENT_NS 1100000000u
#define STEP_MS 5
#define STEP_NS_MAX 1000000000u         /* after the last sample */
#define RETRY_NS 20000000u
#define TICK_NS_MAX 50000000u           /* of reading, between two ticks */
#define RETRIES_MAX 6u
#define UNKNOWN_N 64u
#define PROMPT_NS 10000000u
#define UNKNOWN_PART 20u                /* of the addresses: reported if more are unknown */
#define CHECKED_MAX 32u                 /* pieces in one call of process_vm_readv(2) */
#define CODES_MAX (1u << 20)

struct piece {
	uint64_t start, end;
	uint32_t layer;
	uint32_t code;                  /* NO_CODE: nobody knows what is there now */
};
#define NO_CODE UINT32_MAX

struct code {
	struct runtime_code c;
	uint64_t checked_tick, met_ns;
	uint64_t from_ns;               /* it is not known to be older */
};

enum state { NEW, OPEN, REFUSED, ENDED };

struct livecode_process {
	struct livecode *all;
	uint32_t pid;
	uint64_t start_ns;
	enum state state;
	enum runtime_code_result why;   /* REFUSED */
	uint32_t n_tries;
	uint64_t tried_ns;
	const struct runtime *runtime;
	struct runtime_code_program program;
	struct runtime_memory memory;
	VEC(struct piece) piece;        /* sorted, not overlapping */
	VEC(struct code) code;
	VEC(uint32_t) free_code;        /* unused elements of code */
	struct jitcalls calls;
	uint32_t n_renewals;
	uint64_t checked_tick, sampled_ns;
	struct { uint64_t pc, tick; } unknown[UNKNOWN_N];
};

struct livecode {
	pthread_mutex_t lock;
	struct remotemem *memory;
	struct budget budget;           /* its own: engines in other threads use theirs */
	uint64_t tick, now_ns;
	uint64_t spent_ns;              /* since the tick */
	struct livecode_stats stats;
	VEC(struct livecode_process *) process;
};

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	const struct livecode_process *p = ctx;
	return remotemem_read(p->all->memory, p->pid, local, n_local, remote, n_remote);
}

static struct runtime_code_source source_of(const struct livecode_process *p)
{
	return (struct runtime_code_source){ .memory = &p->memory };
}

struct livecode *livecode_new(struct remotemem *memory, uint64_t n_bytes_max)
{
	struct livecode *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	budget_init(&l->budget, n_bytes_max);
	l->memory = memory;
	l->tick = 1;
	return l;
}

static void release_code(struct livecode_process *p, uint32_t i)
{
	struct runtime_code *c = &p->code.v[i].c;
	budget_release(&p->all->budget, c->n_held_bytes);
	p->runtime->code->release(c);
	if (!VEC_PUSH(&p->free_code, i))
		return;                 /* its element stays unused */
}

/* Frees all but what its addresses are called. */
static void free_code(struct livecode_process *p)
{
	for (size_t i = 0; i < p->piece.n; i++)
		if (p->piece.v[i].code != NO_CODE)
			release_code(p, p->piece.v[i].code);
	if (p->program.data)
		p->runtime->code->close(p->program.data);
	p->program.data = NULL;
	VEC_FREE(&p->piece);
	VEC_FREE(&p->code);
	VEC_FREE(&p->free_code);
}

static void process_free(struct livecode_process *p)
{
	free_code(p);
	jitcalls_done(&p->calls);
	free(p);
}

void livecode_free(struct livecode *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->process.n; i++)
		process_free(l->process.v[i]);
	VEC_FREE(&l->process);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void livecode_tick(struct livecode *l, uint64_t now_ns)
{
	pthread_mutex_lock(&l->lock);
	l->tick++;
	l->now_ns = now_ns;
	l->spent_ns = 0;
	pthread_mutex_unlock(&l->lock);
}

int livecode_timeout_ms(struct livecode *l, uint64_t now_ns)
{
	int ms = -1;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->process.n && ms < 0; i++) {
		const struct livecode_process *p = l->process.v[i];
		if (p->state == OPEN && now_ns - p->sampled_ns < STEP_NS_MAX)
			ms = STEP_MS;
	}
	pthread_mutex_unlock(&l->lock);
	return ms;
}

static void add_cost(struct livecode *l, uint64_t begin_ns)
{
	uint64_t ns = clock_monotonic_ns() - begin_ns;
	l->spent_ns += ns;
	l->stats.cost_ns += ns;
}

/* ---- processes --------------------------------------------------------------------------- */

struct livecode_process *livecode_of(struct livecode *l, uint32_t pid, uint64_t start_ns)
{
	struct livecode_process *p = NULL;
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->process.n && !p; i++)
		if (l->process.v[i]->pid == pid && l->process.v[i]->start_ns == start_ns)
			p = l->process.v[i];
	if (!p && (p = calloc(1, sizeof(*p)))) {
		*p = (struct livecode_process){ .all = l, .pid = pid, .start_ns = start_ns };
		p->memory = (struct runtime_memory){ read_memory, p };
		if (jitcalls_init(&p->calls, &l->budget) < 0 || !VEC_PUSH(&l->process, p)) {
			process_free(p);
			p = NULL;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return p;
}

bool livecode_wants(const struct livecode_process *p)
{
	pthread_mutex_lock(&p->all->lock);
	bool wants = p->state == NEW && p->all->now_ns - p->tried_ns >= p->n_tries * RETRY_NS;
	pthread_mutex_unlock(&p->all->lock);
	return wants;
}

static void refuse(struct livecode_process *p, enum runtime_code_result why)
{
	p->state = REFUSED;
	p->why = why;
	p->all->stats.n_denied += why == RUNTIME_CODE_UNREADABLE;
	p->all->stats.n_unsupported += why == RUNTIME_CODE_UNSUPPORTED;
}

void livecode_open(struct livecode_process *p, const struct runtime *runtime, struct cfi *c,
		   uint64_t bias)
{
	struct livecode *l = p->all;
	struct runtime_code_source from = source_of(p);
	enum runtime_code_result r = RUNTIME_CODE_UNREADABLE;
	uint64_t begin_ns = clock_monotonic_ns();
	pthread_mutex_lock(&l->lock);
	if (p->state == NEW) {
		from.cfi = c;
		from.bias = bias;
		p->runtime = runtime;
		p->tried_ns = l->now_ns;
		if (c)
			r = runtime->code->open(&from, &p->program);
		if (r == RUNTIME_CODE_OK) {
			p->state = OPEN;
			l->stats.n_programs++;
		} else if (++p->n_tries >= RETRIES_MAX) {
			/* until then the program may just have been starting */
			refuse(p, r);
		}
		add_cost(l, begin_ns);
	}
	pthread_mutex_unlock(&l->lock);
}

void livecode_end(struct livecode_process *p)
{
	pthread_mutex_lock(&p->all->lock);
	free_code(p);
	if (p->state == NEW || p->state == OPEN)
		p->state = ENDED;
	pthread_mutex_unlock(&p->all->lock);
}

/* ---- pieces ------------------------------------------------------------------------------ */

/* The first piece that ends after pc. */
static size_t first_after(const struct livecode_process *p, uint64_t pc)
{
	return SEARCH_COUNT(p->piece.n, i, p->piece.v[i].end <= pc);
}

static struct piece *piece_at(struct livecode_process *p, uint64_t pc)
{
	size_t i = first_after(p, pc);
	return i < p->piece.n && p->piece.v[i].start <= pc ? &p->piece.v[i] : NULL;
}

/* It is not what it was. */
static void invalidate(struct livecode_process *p, struct piece *at)
{
	release_code(p, at->code);
	at->code = NO_CODE;
	p->n_renewals++;
}

/* Replaces n pieces from i on by those in v. */
static bool splice(struct livecode_process *p, size_t i, size_t n, const struct piece *v,
		   size_t n_new)
{
	if (!VEC_RESERVE(&p->piece, n_new))
		return false;
	memmove(&p->piece.v[i + n_new], &p->piece.v[i + n],
		(p->piece.n - i - n) * sizeof(*p->piece.v));
	memcpy(&p->piece.v[i], v, n_new * sizeof(*v));
	p->piece.n = p->piece.n - n + n_new;
	return true;
}

/* Adds a piece over others, of which only what it does not cover stays, as marks. */
static bool insert_piece(struct livecode_process *p, struct piece new)
{
	size_t i = first_after(p, new.start), n = 0, k = 0;
	struct piece v[3];
	while (i + n < p->piece.n && p->piece.v[i + n].start < new.end) {
		struct piece *old = &p->piece.v[i + n++];
		if (old->code != NO_CODE)
			invalidate(p, old);
		if (new.layer <= old->layer)
			new.layer = old->layer + 1;
	}
	const struct piece *first = n ? &p->piece.v[i] : NULL;
	const struct piece *last = n ? first + n - 1 : NULL;
	if (n && first->start < new.start) {
		v[k] = *first;
		v[k++].end = new.start;
	}
	v[k++] = new;
	if (n && last->end > new.end) {
		v[k] = *last;
		v[k++].start = new.end;
	}
	p->all->stats.n_replaced += n > 0;
	return splice(p, i, n, v, k);
}

/* Since when at least the code has been there, which was read just now. */
static uint64_t from_of(const struct runtime_code *c)
{
	uint64_t now_ns = clock_monotonic_ns();
	return c->serial && now_ns > PROMPT_NS ? now_ns - PROMPT_NS : 0;
}

/* Keeps code that was read.  NULL: no memory. */
static struct piece *keep_code(struct livecode_process *p, const struct runtime_code *c)
{
	struct livecode *l = p->all;
	bool is_charged = budget_charge(&l->budget, c->n_held_bytes);
	uint32_t i = p->free_code.n ? p->free_code.v[p->free_code.n - 1] : (uint32_t)p->code.n;
	struct piece new = { .start = c->start, .end = c->start + c->n_bytes, .code = i };
	const struct code code = { .c = *c, .checked_tick = l->tick, .from_ns = from_of(c) };
	if (!is_charged || i >= CODES_MAX || (i == p->code.n && !VEC_EXTEND(&p->code, i + 1))) {
		if (is_charged)
			budget_release(&l->budget, c->n_held_bytes);
		return NULL;
	}
	p->free_code.n -= p->free_code.n > 0;
	p->code.v[i] = code;
	l->stats.n_codes++;
	return insert_piece(p, new) ? piece_at(p, c->start) : NULL;
}

/* ---- proof ------------------------------------------------------------------------------- */

/* Reads the witnesses of n pieces at once, and invalidates those that have changed. */
static void prove(struct livecode_process *p, struct piece *const *at, size_t n)
{
	enum { EACH = RUNTIME_CODE_WITNESSES, MAX = CHECKED_MAX * EACH };
	struct iovec local[MAX] = { { NULL, 0 } }, remote[MAX] = { { NULL, 0 } };
	uint8_t now[MAX][RUNTIME_CODE_WITNESS_BYTES];
	for (size_t k = 0; k < n * EACH; k++) {
		const struct runtime_code *c = &p->code.v[at[k / EACH]->code].c;
		const struct runtime_code_witness *w = &c->witness[k % EACH];
		local[k] = (struct iovec){ now[k], w->n_bytes };
		remote[k] = (struct iovec){ (void *)(uintptr_t)w->at, w->n_bytes };
	}
	long n_read = p->memory.read(p->memory.ctx, local, n * EACH, remote, n * EACH);
	for (size_t i = 0; i < n; i++) {
		struct code *c = &p->code.v[at[i]->code];
		bool is_same = true;
		c->checked_tick = p->all->tick;
		for (size_t k = 0; k < EACH; k++) {
			const struct runtime_code_witness *w = &c->c.witness[k];
			n_read -= w->n_bytes;
			is_same &= n_read >= 0 &&
				   memcmp(now[i * EACH + k], w->bytes, w->n_bytes) == 0;
		}
		if (!is_same)
			invalidate(p, at[i]);
	}
}

static void prove_recent(struct livecode_process *p)
{
	struct piece *at[CHECKED_MAX];
	size_t n = 0;
	for (size_t i = 0; i < p->piece.n; i++) {
		struct piece *one = &p->piece.v[i];
		if (one->code == NO_CODE ||
		    p->all->now_ns - p->code.v[one->code].met_ns > RECENT_NS)
			continue;
		at[n++] = one;
		if (n == CHECKED_MAX) {
			prove(p, at, n);
			n = 0;
		}
	}
	if (n)
		prove(p, at, n);
}

uint32_t livecode_check(struct livecode_process *p)
{
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	if (p->state == OPEN && p->checked_tick != l->tick) {
		uint64_t begin_ns = clock_monotonic_ns();
		p->checked_tick = l->tick;
		p->sampled_ns = l->now_ns;
		prove_recent(p);
		add_cost(l, begin_ns);
	}
	uint32_t n = p->n_renewals;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* ---- addresses --------------------------------------------------------------------------- */

/* What pc, in that piece, is called.  False: it is not known, because the code is gone. */
static bool name_pc(struct livecode_process *p, struct piece *at, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct jitcalls_call kept[RUNTIME_CALLS_MAX];
	struct runtime_code_source from = source_of(p);
	struct runtime_code *c = &p->code.v[at->code].c;
	size_t before = c->n_held_bytes;
	if (jitcalls_find(&p->calls, at->layer, pc))
		return true;
	size_t n = p->runtime->code->calls(p->program.data, &from, c, pc, call);
	budget_charge_always(&p->all->budget, c->n_held_bytes - before);
	for (size_t i = 0; i < n; i++)
		kept[i] = (struct jitcalls_call){
			jitcalls_text(&p->calls, call[i].name),
			jitcalls_text(&p->calls, call[i].linkage),
			jitcalls_text(&p->calls, call[i].file), call[i].line,
		};
	/* was it the same code until now? */
	prove(p, &at, 1);
	if (at->code == NO_CODE || !kept[0].name ||
	    !jitcalls_add(&p->calls, at->layer, pc, kept, n))
		return false;
	p->all->stats.n_addresses++;
	return true;
}

static struct piece *discover(struct livecode_process *p, uint64_t pc)
{
	struct runtime_code_source from = source_of(p);
	struct runtime_code c;
	if (!p->runtime->code->find(p->program.data, &from, pc, &c))
		return NULL;
	struct piece *at = keep_code(p, &c);
	if (!at)
		p->runtime->code->release(&c);
	return at;
}

static bool find_place(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		       struct livecode_place *ret)
{
	uint64_t tick = p->all->tick;
	struct piece *at = piece_at(p, pc);
	if (at && at->code != NO_CODE && p->code.v[at->code].checked_tick != tick)
		prove(p, &at, 1);
	if (!at || at->code == NO_CODE) {
		at = discover(p, pc);
		p->all->stats.lag_ns += at ? clock_monotonic_ns() - time_ns : 0;
	}
	p->all->stats.n_late += at && p->code.v[at->code].from_ns > time_ns;
	if (!at || p->code.v[at->code].from_ns > time_ns || (has_name && !name_pc(p, at, pc)))
		return false;
	struct code *c = &p->code.v[at->code];
	c->met_ns = p->all->now_ns;
	*ret = (struct livecode_place){
		.start = at->start, .n_bytes = at->end - at->start, .layer = at->layer,
		.frame_words = c->c.frame_words, .body_off = c->c.body_off,
	};
	return true;
}

static bool ask(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		struct livecode_place *ret)
{
	struct livecode *l = p->all;
	bool found = false;
	pthread_mutex_lock(&l->lock);
	size_t slot = (pc >> 4) % UNKNOWN_N;
	bool is_unknown = p->unknown[slot].pc == pc && p->unknown[slot].tick == l->tick;
	if (p->state == OPEN && !is_unknown && l->spent_ns < TICK_NS_MAX) {
		uint64_t begin_ns = clock_monotonic_ns();
		uint64_t n_late = l->stats.n_late;
		found = find_place(p, pc, time_ns, has_name, ret);
		l->stats.n_unknown += !found;
		if (!found && n_late == l->stats.n_late) {
			p->unknown[slot].pc = pc;
			p->unknown[slot].tick = l->tick;
		}
		add_cost(l, begin_ns);
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool livecode_at(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		 struct livecode_place *ret)
{
	return ask(p, pc, time_ns, true, ret);
}

bool livecode_find(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		   struct livecode_place *ret)
{
	return ask(p, pc, time_ns, false, ret);
}

const struct jitcalls *livecode_calls(const struct livecode_process *p)
{
	return &p->calls;
}

/* ---- results ----------------------------------------------------------------------------- */

struct livecode_stats livecode_stats(struct livecode *l)
{
	pthread_mutex_lock(&l->lock);
	struct livecode_stats s = l->stats;
	pthread_mutex_unlock(&l->lock);
	return s;
}

void livecode_explain(struct livecode *l, const struct log *log)
{
	for (size_t i = 0; i < l->process.n; i++) {
		const struct livecode_process *p = l->process.v[i];
		if (p->state == REFUSED && p->why == RUNTIME_CODE_UNSUPPORTED)
			log_line(log, LOG_WARN, "code of %s%s%s in process %u has no names: this "
				 "version is not supported ('%s' is missing)", p->runtime->name,
				 p->program.version[0] ? " " : "", p->program.version, p->pid,
				 p->program.missing ? p->program.missing : "a table");
		else if (p->state == REFUSED)
			log_line(log, LOG_WARN, "code of %s in process %u has no names: its "
				 "memory may not be read (kernel.yama.ptrace_scope=0, or "
				 "CAP_SYS_PTRACE)", p->runtime->name, p->pid);
		else if (p->calls.place.n)
			log_line(log, LOG_EXPLAIN, "code of %s %s in process %u: %zu addresses "
				 "with names", p->runtime->name, p->program.version, p->pid,
				 p->calls.place.n);
	}
	const struct livecode_stats *s = &l->stats;
	if (s->n_unknown * UNKNOWN_PART > s->n_addresses)
		log_line(log, LOG_WARN, "%" PRIu64 " look-ups of code found none, %" PRIu64 " of "
			 "them because cprof was late: samples in it have addresses (--realtime, "
			 "or a lower -F)", s->n_unknown, s->n_late);
	if (s->n_programs)
		log_line(log, LOG_EXPLAIN, "code read from memory: %" PRIu64 " pieces, %" PRIu64
			 " of them in place of others, %" PRIu64 " us after the sample on "
			 "average; %" PRIu64 " addresses without code, %" PRIu64 " of them too "
			 "late; %" PRIu64 " us of time", s->n_codes, s->n_replaced,
			 s->n_codes ? s->lag_ns / s->n_codes / 1000 : 0, s->n_unknown, s->n_late,
			 s->cost_ns / 1000);
}
