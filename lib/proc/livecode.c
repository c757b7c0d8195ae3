/*
 * Processes whose code is read from their memory: when that is tried, and what it has cost.
 * livecode-proof.c proves the code that is known, and livecode-place.c finds and names other code.
 */
#include "proc/livecode-private.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "base/units.h"
#include "proc/memoryrights.h"
#include "symbolize/runtime/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define STEP_MS 5                       /* while new code appears */
#define CALM_STEP_MS 30
#define CALM_NS 1000000000u             /* after the last new code */
#define FIRST_NS 200000000u             /* in which a program starts, or is seen at all */
#define STEP_NS_MAX 1000000000u         /* after the last sample */
#define RETRY_NS 20000000u
#define RETRIES_MAX 6u
#define LATE_PART 20u                   /* of the addresses: reported if more were read too late */

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct livecode_process *p = ctx;
	long r = remotemem_read(p->all->host->memory, p->pid, local, n_local, remote, n_remote);
	p->is_denied |= r == -EPERM;
	return r;
}

struct runtime_code_source livecode_source(const struct livecode_process *p)
{
	return (struct runtime_code_source){ .memory = &p->memory };
}

void livecode_add_cost(struct livecode *l, uint64_t begin_ns)
{
	uint64_t ns = clock_monotonic_ns() - begin_ns;
	l->spent_ns += ns;
	l->stats.cost_ns += ns;
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
	if (p->state == LIVECODE_NEW)
		return p->n_tries ? STEP_MS : -1;
	if (p->state != LIVECODE_OPEN || now_ns - p->sampled_ns >= STEP_NS_MAX)
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
	bool wants = p->state == LIVECODE_NEW &&
		     p->all->now_ns - p->tried_ns >= p->n_tries * RETRY_NS;
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
	p->state = LIVECODE_REFUSED;
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
	struct runtime_code_source from = livecode_source(p);
	enum runtime_code_result r = RUNTIME_CODE_UNREADABLE;
	uint64_t begin_ns = clock_monotonic_ns();
	pthread_mutex_lock(&l->lock);
	if (p->state == LIVECODE_NEW) {
		from.cfi = c;
		from.bias = bias;
		p->runtime = runtime;
		p->pieces.ops = runtime->code;
		p->tried_ns = l->now_ns;
		if (c)
			r = runtime->code->open(&from, &p->program);
		if (r == RUNTIME_CODE_OK) {
			p->state = LIVECODE_OPEN;
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
	if (p->state == LIVECODE_NEW || p->state == LIVECODE_OPEN)
		p->state = LIVECODE_ENDED;
	pthread_mutex_unlock(&p->all->lock);
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
			log_line(log, LOG_EXPLAIN, "code of %s %s in process %u: %zu address%s "
				 "with names", p->runtime->name, p->program.version, p->pid,
				 p->calls.place.n, units_word(p->calls.place.n, "", "es"));
	}
	if (*l->refused.line)
		log_line(log, LOG_WARN, "code has no names in %" PRIu64 " sample%s: %s",
			 l->stats.n_refused, units_s(l->stats.n_refused), l->refused.line);
	const struct livecode_stats s = livecode_stats(l);
	if (s.n_late * LATE_PART > s.n_addresses)
		log_line(log, LOG_WARN, "%" PRIu64 " of %" PRIu64 " look-ups of JIT code came "
			 "too late to name it (--realtime, or a lower -F)", s.n_late,
			 s.n_addresses + s.n_unknown);
	if (s.n_programs)
		log_line(log, LOG_EXPLAIN, "code read from memory: %" PRIu64 " piece%s, %" PRIu64
			 " of them in place of others, %" PRIu64 " us after the sample on "
			 "average; without code: %" PRIu64 ", %" PRIu64 " of them too "
			 "late; %" PRIu64 " us of time", s.n_codes, units_s(s.n_codes),
			 s.n_replaced, s.n_codes ? s.lag_ns / s.n_codes / 1000 : 0, s.n_unknown,
			 s.n_late, s.cost_ns / 1000);
}
