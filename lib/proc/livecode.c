/*
 * The pieces of code in a stack are proven together, each of them once between two ticks.
 *
 * When code is first met, it may have come after the sample.  It is believed to be older only if it
 * is met promptly, and if the runtime has not used the memory of code for other code meanwhile, as
 * far as it counts that (the epoch).  Where other code was known before, it is believed only from
 * the moment on when that was gone.  Numbers of compilations do not help: they are given before
 * compiling begins.
 *
 * Memory that was sampled is a hostile program's to choose.  So what is read is bounded by the
 * runtime's reader, the time by TICK_NS_MAX, what is kept by n_bytes_max, and an address without
 * code is not asked about again before the next tick.
 */

#include "proc/livecode.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "base/vec.h"
#include "proc/livepieces.h"
#include "proc/memoryrights.h"
#include "proc/refused.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MS 5                       /* while new code appears */
#define CALM_STEP_MS 30
#define CALM_NS 1000000000u             /* after the last new code */
#define FIRST_NS 200000000u             /* in which a program starts, or is seen at all */
#define STEP_NS_MAX 1000000000u         /* after the last sample */
#define RETRY_NS 20000000u
#define TICK_NS_MAX 50000000u           /* of reading, between two ticks */
#define RETRIES_MAX 6u
#define UNKNOWN_N 64u
#define RECENT_N LIVEPIECES_PROVE_MAX
#define RECENT_TICKS 8u
#define PROMPT_NS 10000000u             /* without epochs */
#define EPOCH_PROMPT_NS 100000000u
#define EPOCH_CALM_NS 1000000000u
#define UNKNOWN_PART 20u                /* of the addresses: reported if more are unknown */

enum state { NEW, OPEN, REFUSED, ENDED };

struct livecode_process {
	struct livecode *all;
	uint32_t pid;
	uint64_t start_ns;
	enum state state;
	uint32_t n_tries;
	bool is_denied;                 /* its memory may not be read */
	uint64_t tried_ns;
	uint64_t n_samples;             /* before it is OPEN */
	const struct runtime *runtime;
	struct runtime_code_program program;
	struct runtime_memory memory;
	struct livepieces pieces;
	struct jitcalls calls;
	uint64_t sampled_ns, changed_ns;        /* the last sample, the last new code */
	bool is_late;                   /* code was met too late for a sample, at late_tick */
	uint64_t late_tick;
	uint32_t n_renewals;            /* because of that */
	struct { uint64_t pc, tick; } unknown[UNKNOWN_N];
	/* Pieces that were in a stack lately, by their start: those of the next samples, too. */
	struct { uint64_t start, tick; } recent[RECENT_N];
	uint64_t recent_tick;           /* they were proven then */
	/* The runtime's number, and since when it is known to be the same. */
	uint64_t epoch, epoch_ns, epoch_read_tick;
	bool has_epoch;
};

struct livecode {
	pthread_mutex_t lock;
	const struct host *host;
	struct budget budget;           /* its own: engines in other threads use theirs */
	uint64_t tick, now_ns;
	uint64_t spent_ns;              /* since the tick */
	uint64_t began_ns;              /* 0: not yet */
	struct livecode_stats stats;
	struct refused refused;
	VEC(struct livecode_process *) process;
};

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct livecode_process *p = ctx;
	long r = remotemem_read(p->all->host->memory, p->pid, local, n_local, remote, n_remote);
	p->is_denied |= r == -EPERM;
	return r;
}

static struct runtime_code_source source_of(const struct livecode_process *p)
{
	return (struct runtime_code_source){ .memory = &p->memory };
}

struct livecode *livecode_new(const struct host *host, uint64_t n_bytes_max)
{
	struct livecode *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	budget_init(&l->budget, n_bytes_max);
	l->host = host;
	l->tick = 1;
	return l;
}

/* Frees all but what its addresses are called. */
static void free_code(struct livecode_process *p)
{
	livepieces_done(&p->pieces);
	if (p->program.data)
		p->runtime->code->close(p->program.data);
	p->program.data = NULL;
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
	refused_done(&l->refused);
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

static int step_of(const struct livecode_process *p, uint64_t now_ns)
{
	if (p->state == NEW)
		return p->n_tries ? STEP_MS : -1;
	if (p->state != OPEN || now_ns - p->sampled_ns >= STEP_NS_MAX)
		return -1;
	return now_ns - p->changed_ns < CALM_NS ? STEP_MS : CALM_STEP_MS;
}

int livecode_timeout_ms(struct livecode *l, uint64_t now_ns)
{
	pthread_mutex_lock(&l->lock);
	if (!l->began_ns)
		l->began_ns = now_ns;
	int ms = now_ns - l->began_ns < FIRST_NS ? STEP_MS : -1;
	for (size_t i = 0; i < l->process.n; i++)
		ms = clock_sooner_ms(ms, step_of(l->process.v[i], now_ns));
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
		p->pieces.budget = &l->budget;
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

static void explain_version(const struct livecode_process *p, struct err *e)
{
	const struct runtime_code_program *x = &p->program;
	err_set(e, ENOTSUP, "this version of %s%s%.40s is not supported ('%.60s' is missing)",
		p->runtime->name, *x->version ? ", " : "", x->version,
		x->missing ? x->missing : "a table");
	err_hint(e, "a perf map names it (JIT CODE in cprof-record(1))");
}

static void refuse(struct livecode_process *p, enum runtime_code_result why, bool has_file)
{
	struct livecode *l = p->all;
	struct err e = { 0 };
	p->state = REFUSED;
	l->stats.n_denied += why == RUNTIME_CODE_UNREADABLE;
	l->stats.n_unsupported += why == RUNTIME_CODE_UNSUPPORTED;
	l->stats.n_refused += p->n_samples;
	if (why == RUNTIME_CODE_UNSUPPORTED)
		explain_version(p, &e);
	else if (!has_file && !p->is_denied)
		err_set(&e, EACCES, "the file of %s cannot be read", p->runtime->name);
	else if (memoryrights_explain(l->host, p->pid, &e) == -ESRCH)
		return;
	refused_add_err(&l->refused, p->pid, &e);
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
		p->pieces.ops = runtime->code;
		p->tried_ns = l->now_ns;
		if (c)
			r = runtime->code->open(&from, &p->program);
		if (r == RUNTIME_CODE_OK) {
			p->state = OPEN;
			l->stats.n_programs++;
		} else if (++p->n_tries >= RETRIES_MAX || p->is_denied) {
			/* until then the program may just have been starting */
			refuse(p, r, c);
		}
		/* once in a process: names of its first drain, or of a snapshot, come after it */
		l->stats.cost_ns += clock_monotonic_ns() - begin_ns;
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

/* ---- epochs ------------------------------------------------------------------------------ */

/* Reads the number, once in each tick unless is_due. */
static void read_epoch(struct livecode_process *p, bool is_due)
{
	struct runtime_code_source from = source_of(p);
	uint64_t epoch, tick = p->all->tick;
	if (!p->runtime->code->epoch || (p->epoch_read_tick == tick && !is_due))
		return;
	p->epoch_read_tick = tick;
	if (!p->runtime->code->epoch(p->program.data, &from, &epoch))
		return;
	if (p->has_epoch ? epoch != p->epoch : epoch != 0) {
		p->epoch_ns = clock_monotonic_ns();
		p->pieces.epoch_tick = tick;
	}
	p->has_epoch = true;
	p->epoch = epoch;
}

/* ---- proof ------------------------------------------------------------------------------- */

/* Its proof is due in this tick; false: it has no code, or is proven. */
static bool is_due(struct livecode_process *p, struct livepiece *at)
{
	struct livepiece_code *c = at ? livepieces_code(&p->pieces, at) : NULL;
	if (!c || c->checked_tick == p->all->tick)
		return false;
	/* it is only once in a list */
	c->checked_tick = p->all->tick;
	return true;
}

/* Adds pieces to n others, so that most of a tick's stacks are proven by its first reading. */
static size_t add_recent(struct livecode_process *p, struct livepiece *at[LIVEPIECES_PROVE_MAX],
			 size_t n)
{
	uint64_t tick = p->all->tick;
	if (p->recent_tick == tick)
		return n;
	p->recent_tick = tick;
	for (size_t i = 0; i < RECENT_N && n < LIVEPIECES_PROVE_MAX; i++) {
		struct livepiece *one = p->recent[i].tick + RECENT_TICKS > tick ?
			livepieces_at(&p->pieces, p->recent[i].start) : NULL;
		if (is_due(p, one))
			at[n++] = one;
	}
	return n;
}

static void note_recent(struct livecode_process *p, uint64_t start)
{
	size_t i = hash_u64(start) % RECENT_N;
	p->recent[i].start = start;
	p->recent[i].tick = p->all->tick;
}

/* Proves n pieces, and others with them if that costs little. */
static void prove(struct livecode_process *p, struct livepiece *at[LIVEPIECES_PROVE_MAX],
		  size_t n)
{
	uint64_t tick = p->all->tick;
	read_epoch(p, false);
	/* of a program that has just ended, if it has not used memory of code again lately */
	p->pieces.keeps_unreadable = p->has_epoch &&
				     clock_monotonic_ns() - p->epoch_ns > EPOCH_CALM_NS;
	n = add_recent(p, at, n);
	livepieces_prove(&p->pieces, &p->memory, at, n, tick);
}

static void prove_one(struct livecode_process *p, struct livepiece *one)
{
	struct livepiece *at[LIVEPIECES_PROVE_MAX] = { one };
	livepieces_code(&p->pieces, one)->checked_tick = p->all->tick;
	prove(p, at, 1);
}

static uint32_t n_renewals(const struct livecode_process *p)
{
	return p->n_renewals + p->pieces.n_renewals;
}

uint32_t livecode_check(struct livecode_process *p, uint64_t time_ns, uint64_t *ret_tick)
{
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	if (time_ns > l->now_ns) {
		uint64_t now_ns = clock_monotonic_ns();
		l->tick++;
		l->now_ns = now_ns > time_ns ? now_ns : time_ns;
	}
	if (p->state == OPEN)
		p->sampled_ns = l->now_ns;
	p->n_samples += p->state == NEW;
	l->stats.n_refused += p->state == REFUSED;
	if (p->is_late && p->late_tick != l->tick) {
		/* later samples have the name */
		p->is_late = false;
		p->n_renewals++;
	}
	uint32_t n = n_renewals(p);
	*ret_tick = l->tick;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* Those of n addresses whose pieces are not proven in this tick; their number. */
static size_t unproven(struct livecode_process *p, const uint64_t *pc, size_t n,
		       struct livepiece *at[LIVEPIECES_PROVE_MAX])
{
	size_t k = 0;
	for (size_t i = 0; i < n && k < LIVEPIECES_PROVE_MAX; i++) {
		struct livepiece *one = livepieces_at(&p->pieces, pc[i]);
		if (one)
			note_recent(p, one->start);
		if (is_due(p, one))
			at[k++] = one;
	}
	return k;
}

uint32_t livecode_prove(struct livecode_process *p, const uint64_t *pc, size_t n)
{
	struct livepiece *at[LIVEPIECES_PROVE_MAX];
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	uint64_t begin_ns = clock_monotonic_ns();
	size_t n_at;
	while (p->state == OPEN && (n_at = unproven(p, pc, n, at)))
		prove(p, at, n_at);
	uint32_t renewals = n_renewals(p);
	add_cost(l, begin_ns);
	pthread_mutex_unlock(&l->lock);
	return renewals;
}

/* ---- addresses --------------------------------------------------------------------------- */

/* What pc, in that piece, is called.  False: it is not known, because the code is gone. */
static bool name_pc(struct livecode_process *p, struct livepiece *at, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct jitcalls_call kept[RUNTIME_CALLS_MAX];
	struct runtime_code_source from = source_of(p);
	struct runtime_code *c = &livepieces_code(&p->pieces, at)->c;
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
			call[i].first_line,
		};
	/* was it the same code until now? */
	prove_one(p, at);
	if (at->code == LIVEPIECE_NO_CODE || !kept[0].name ||
	    !jitcalls_add(&p->calls, at->layer, pc, kept, n))
		return false;
	p->all->stats.n_addresses++;
	return true;
}

/* Since when at least the code has been there, which was read just now. */
static uint64_t from_of(struct livecode_process *p, const struct runtime_code *c)
{
	read_epoch(p, true);
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t prompt_ns = p->has_epoch ? EPOCH_PROMPT_NS : PROMPT_NS;
	uint64_t from_ns = c->serial && now_ns > prompt_ns ? now_ns - prompt_ns : 0;
	return c->serial && p->epoch_ns > from_ns ? p->epoch_ns : from_ns;
}

static struct livepiece *discover(struct livecode_process *p, uint64_t pc)
{
	struct runtime_code_source from = source_of(p);
	struct livepiece_code c = { .checked_tick = p->all->tick };
	if (!p->runtime->code->find(p->program.data, &from, pc, &c.c))
		return NULL;
	c.from_ns = from_of(p, &c.c);
	struct livepiece *at = livepieces_add(&p->pieces, &c);
	if (!at) {
		p->runtime->code->release(&c.c);
		return NULL;
	}
	p->all->stats.n_codes++;
	p->changed_ns = p->all->now_ns;
	return at;
}

/* The code of a piece, proven in this tick; NULL: it is gone. */
static struct livepiece_code *proven_code(struct livecode_process *p, struct livepiece *at)
{
	const struct livepiece_code *c = livepieces_code(&p->pieces, at);
	if (c && c->checked_tick != p->all->tick)
		prove_one(p, at);
	return livepieces_code(&p->pieces, at);
}

static uint64_t lag_of(uint64_t time_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	return now_ns > time_ns ? now_ns - time_ns : 0;
}

static bool find_place(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		       struct livecode_place *ret)
{
	uint64_t tick = p->all->tick;
	struct livepiece *at = livepieces_at(&p->pieces, pc);
	struct livepiece_code *c = at ? proven_code(p, at) : NULL;
	if (!c) {
		at = discover(p, pc);
		c = at ? livepieces_code(&p->pieces, at) : NULL;
		p->all->stats.lag_ns += at ? lag_of(time_ns) : 0;
	}
	/* the size of a frame is taken from the code that is there now in any case */
	if (c && has_name && c->from_ns > time_ns) {
		p->all->stats.n_late++;
		p->is_late = true;
		p->late_tick = tick;
		return false;
	}
	if (!c || (has_name && !name_pc(p, at, pc)))
		return false;
	*ret = (struct livecode_place){
		.start = at->start, .n_bytes = at->end - at->start, .layer = at->layer,
		.frame_words = c->c.frame_words, .body_off = c->c.body_off,
	};
	return true;
}

static bool ask_locked(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		       struct livecode_place *ret)
{
	struct livecode *l = p->all;
	size_t slot = (pc >> 4) % UNKNOWN_N;
	bool is_unknown = p->unknown[slot].pc == pc && p->unknown[slot].tick == l->tick;
	if (p->state != OPEN || is_unknown || l->spent_ns >= TICK_NS_MAX)
		return false;
	uint64_t n_late = l->stats.n_late;
	bool found = find_place(p, pc, time_ns, has_name, ret);
	l->stats.n_unknown += !found;
	if (!found && n_late == l->stats.n_late) {
		p->unknown[slot].pc = pc;
		p->unknown[slot].tick = l->tick;
	}
	return found;
}

static bool ask(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		struct livecode_place *ret)
{
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	uint64_t begin_ns = clock_monotonic_ns();
	bool found = ask_locked(p, pc, time_ns, has_name, ret);
	add_cost(l, begin_ns);
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

bool livecode_has_frames(const struct livecode_process *p)
{
	return p->state == OPEN && p->runtime->code->frame;
}

/* Has the address, which takes the place of another one, a name for that time? */
static bool is_named(struct livecode_process *p, uint64_t pc, uint64_t time_ns)
{
	const struct livepiece *at = livepieces_at(&p->pieces, pc);
	const struct livepiece_code *c = at ? livepieces_code(&p->pieces, at) : NULL;
	struct livecode_place place;
	return (c && c->from_ns <= time_ns && jitcalls_find(&p->calls, at->layer, pc)) ||
	       ask_locked(p, pc, time_ns, true, &place);
}

static void ask_frame(struct livecode_process *p, const struct runtime_code_source *from,
		      uint64_t time_ns, struct runtime_frame *f)
{
	uint64_t pc = f->pc;
	enum runtime_frame_kind kind = p->runtime->code->frame(p->program.data, from, f, &pc);
	struct livepiece *at = kind == RUNTIME_FRAME_OTHER_CODE ? livepieces_at(&p->pieces, pc)
								: NULL;
	if (at && at->code != LIVEPIECE_NO_CODE)
		livepieces_drop(&p->pieces, at);
	/* the unwinder has asked for it already */
	if (kind == RUNTIME_FRAME_NEW)
		memset(p->unknown, 0, sizeof(p->unknown));
	/* the interpreter's name is better than none */
	f->is_found = kind == RUNTIME_FRAME_FOUND && is_named(p, pc, time_ns);
	if (f->is_found)
		f->pc = pc;
}

bool livecode_frames(struct livecode_process *p, uint64_t time_ns, struct runtime_frame *frame,
		     size_t n)
{
	struct livecode *l = p->all;
	struct runtime_code_source from = source_of(p);
	pthread_mutex_lock(&l->lock);
	uint32_t before = p->pieces.n_renewals;
	uint64_t begin_ns = clock_monotonic_ns();
	for (size_t i = 0; i < n && livecode_has_frames(p) && l->spent_ns < TICK_NS_MAX; i++)
		ask_frame(p, &from, time_ns, &frame[i]);
	bool is_same = p->pieces.n_renewals == before;
	add_cost(l, begin_ns);
	pthread_mutex_unlock(&l->lock);
	return is_same;
}

size_t livecode_read(struct livecode_process *p, uint64_t pc, void *buf, size_t n_bytes)
{
	size_t n = 0;
	pthread_mutex_lock(&p->all->lock);
	struct livepiece *at = p->state == OPEN ? livepieces_at(&p->pieces, pc) : NULL;
	struct livepiece_code *c = at ? proven_code(p, at) : NULL;
	if (c)
		n = livepieces_read(&p->pieces, &p->memory, at, pc, buf, n_bytes);
	pthread_mutex_unlock(&p->all->lock);
	return n;
}

const struct jitcalls *livecode_calls(const struct livecode_process *p)
{
	return &p->calls;
}

/* ---- results ----------------------------------------------------------------------------- */

static uint64_t n_replaced(const struct livecode *l)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->process.n; i++)
		n += l->process.v[i]->pieces.n_replaced;
	return n;
}

struct livecode_stats livecode_stats(struct livecode *l)
{
	pthread_mutex_lock(&l->lock);
	struct livecode_stats s = l->stats;
	s.n_replaced = n_replaced(l);
	pthread_mutex_unlock(&l->lock);
	return s;
}

void livecode_explain(struct livecode *l, const struct log *log)
{
	for (size_t i = 0; i < l->process.n; i++) {
		const struct livecode_process *p = l->process.v[i];
		if (p->calls.place.n)
			log_line(log, LOG_EXPLAIN, "code of %s %s in process %u: %zu addresses "
				 "with names", p->runtime->name, p->program.version, p->pid,
				 p->calls.place.n);
	}
	if (*l->refused.line)
		log_line(log, LOG_WARN, "code has no names in %" PRIu64 " samples: %s",
			 l->stats.n_refused, l->refused.line);
	const struct livecode_stats s = livecode_stats(l);
	if (s.n_unknown * UNKNOWN_PART > s.n_addresses)
		log_line(log, LOG_WARN, "%" PRIu64 " look-ups of code found none, %" PRIu64 " of "
			 "them because cprof was late: samples in it have addresses (--realtime, "
			 "or a lower -F)", s.n_unknown, s.n_late);
	if (s.n_programs)
		log_line(log, LOG_EXPLAIN, "code read from memory: %" PRIu64 " pieces, %" PRIu64
			 " of them in place of others, %" PRIu64 " us after the sample on "
			 "average; %" PRIu64 " addresses without code, %" PRIu64 " of them too "
			 "late; %" PRIu64 " us of time", s.n_codes, s.n_replaced,
			 s.n_codes ? s.lag_ns / s.n_codes / 1000 : 0, s.n_unknown, s.n_late,
			 s.cost_ns / 1000);
}
