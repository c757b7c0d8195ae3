/*
 * Looks at threads that wait and whose stack no sample shows, or only a part of it: all threads
 * once when the recording begins, later those whose records of switches say that they need one.
 */

#include "recorder/kinds/kind-cpu.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/engine-waits.h"
#include "engine/waits-cut.h"
#include "recorder/kinds/kind-cpu-functions.h"
#include "recorder/kinds/kind-cpu-tasks.h"
#include "recorder/kinds/kind-cpu-polls.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Waits without a sample are looked at when they are this long.  Shorter ones end too soon; while
 * only some have a sample, shorter ones than WAITS_LONG_NS need none. */
#define LOOK_AFTER_NS WAITS_SHORT_NS
#define LOOK_AFTER_THINNED_NS (WAITS_LONG_NS / 2)

/* That happens so often, for a tenth of the time at most.  The first look at a file opens it, which
 * takes longer. */
#define LOOK_EVERY_NS 500000u
#define LOOK_PART 10u
#define LOOKS_NS_MAX 1000000u

/* Without samples, records of switches are looked for all the time, because they wake nobody: the
 * longer all threads have waited, the less often. */
#define QUIET_PART 32u
#define QUIET_MS_MAX 8

/* Short waits are read so often on average, for a twentieth of the time at most. */
#define READING_EVERY_NS 5000000u
#define READING_PART 20u

/* With labels of locks: how soon the holder is read after a wait has begun. */
#define LOCKS_EVERY_MS 2

/* After a wait whose stack is longer than its copy, more may follow for so long, and each is looked
 * at while it lasts.  The first one is noticed after this time, because few samples wake nobody;
 * the longer nothing happens, the later. */
#define PARTIAL_NS 250000000u
#define NOTICE_MS_MIN 10
#define NOTICE_MS_MAX 320

enum waits_reason kind_cpu_looks_reason(long number)
{
#ifdef SYS_futex_waitv
	if (number == SYS_futex_waitv)
		return WAITS_FOR_LOCK;
#endif
#ifdef SYS_nanosleep
	if (number == SYS_nanosleep)
		return WAITS_FOR_TIME;
#endif
	return number == SYS_futex ? WAITS_FOR_LOCK :
	       number == SYS_clock_nanosleep ? WAITS_FOR_TIME : WAITS_FOR_ANYTHING;
}

struct lockread_wait kind_cpu_looks_lock(const struct threadread_call *call)
{
	struct lockread_wait lock = { 0 };
	if (call->syscall == SYS_futex)
		lockread_wait(call->arg, &lock);
	return lock;
}

/* Who holds the lock that the thread waits for? */
static void read_holder(struct kind_cpu_waits *w, struct engine *g, uint32_t pid, uint32_t tid,
			const struct lockread_wait *lock)
{
	uint64_t from_ns = clock_monotonic_ns();
	uint32_t own = lockread_holder_now(g->options.host, pid, lock);
	uint64_t to_ns = clock_monotonic_ns();
	uint32_t holder = owntid_find(&w->owntid, g->options.host, pid, own);
	const struct procs_thread *t = holder ? procs_find_thread(&g->procs, holder) : NULL;
	if (t && t->exited)
		owntid_forget(&w->owntid, pid, own);
	else if (t)
		engine_add_holder(g, pid, tid, from_ns, to_ns, holder);
}

void kind_cpu_looks_add(struct kind_cpu_waits *w, struct engine *g, const struct record *r,
			const struct waits_look *look)
{
	engine_add_look(g, r, look);
	if (g->options.has_locks && look->lock.address)
		read_holder(w, g, r->pid, r->tid, &look->lock);
}

static int look_once(struct kind_session *k, struct engine *g, uint32_t pid, uint32_t tid)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	struct record r;
	int code = threadread_look(k->host, pid, tid, &w->regs, w->look, &r);
	if ((code == -EACCES || code == -EPERM) && !w->was_denied) {
		w->was_denied = true;
		log_line(k->log, LOG_WARN, "waits: the stacks of waiting threads of process %u may "
			 "not be read (ptrace(2), kernel.yama.ptrace_scope)", pid);
	}
	if (code < 0)
		return code;
	r.event = w->event;
	kind_cpu_looks_add(w, g, &r, &(struct waits_look){
		.from_ns = w->look->from_ns, .is_waiting = w->look->is_waiting,
		.is_disk = w->look->is_disk, .is_reading = w->is_reading,
		.lock = kind_cpu_looks_lock(&w->look->call),
		.at.reason = kind_cpu_looks_reason(w->look->call.syscall),
	});
	return 0;
}

/* The rest of the stack of a sample. */
static void look_beyond(struct kind_session *k, struct engine *g, const struct waits_thread *t)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	struct record r = {
		.type = PERF_RECORD_SAMPLE, .has_time = true, .event = w->event,
		.cpu = UINT32_MAX, .pid = t->pid, .tid = t->tid,
	};
	uint64_t from_ns = clock_monotonic_ns();
	w->look->long_stack = true;
	waits_cut_use(t->cut, &r);
	r.sample.n_user_stack_bytes = threadread_stack(k->host, t->pid, t->tid,
			waits_cut_sp(t->cut, w->regs.sp), w->look);
	r.sample.user_stack = (const uint8_t *)w->look->stack;
	r.sample.user_stack_size = sizeof(w->look->stack);
	w->look->long_stack = false;
	r.time_ns = clock_monotonic_ns();
	if (r.sample.n_user_stack_bytes)
		engine_add_look(g, &r, &(struct waits_look){
			.from_ns = from_ns, .is_waiting = true, .is_cut = true,
			.is_disk = t->is_disk, .lock = t->lock, .at.reason = t->at.reason,
		});
}

/* A stack that is deeper than what was read is read again, up to its root: no part of it changes
 * while the thread waits. */
static int look_at(struct kind_session *k, struct engine *g, uint32_t pid, uint32_t tid)
{
	struct threadread *look = ((struct kind_cpu *)k->state)->waits.look;
	const struct waits_thread *t = waits_find(&g->waits, tid);
	if (t && t->is_cut) {
		look_beyond(k, g, t);
		return 0;
	}
	int r = look_once(k, g, pid, tid);
	t = waits_find(&g->waits, tid);
	if (r < 0 || !look->is_waiting || !t || !t->look.at.is_partial)
		return r;
	look->long_stack = true;
	r = look_once(k, g, pid, tid);
	look->long_stack = false;
	return r;
}

bool kind_cpu_looks_is_first(const struct cprof_config *c, const struct procs_thread *t)
{
	for (size_t i = 0; i < c->n_pids; i++)
		if ((uint32_t)c->pid[i] == t->process->pid)
			return true;
	for (size_t i = 0; i < c->n_tids; i++)
		if ((uint32_t)c->tid[i] == t->tid)
			return true;
	return c->all_processes && t->tid;
}

struct first_thread {
	uint32_t pid, tid;
};

int kind_cpu_looks_started(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_cpu *c = k->state;
	CLEANUP_VEC VEC(struct first_thread) first = { 0 };
	if (!kind_cpu_waits_any(c))
		return 0;
	c->waits.look = calloc(1, sizeof(*c->waits.look));
	if (!c->waits.look)
		return err_errno(e, ENOMEM, "cannot set up recording");
	memcpy(g->waits.code, c->waits.code, sizeof(g->waits.code));
	c->waits.can_look = evattr_place_regs(&c->waits.regs);
	g->waits.min_ns = k->config->off_cpu_min_ns;
	g->waits.wants_holders = k->config->locks && !c->waits.only_polls;
	g->waits.is_thinned = c->waits.switches.rate.period > 1;
	g->waits.has_readings = c->waits.only_looks && c->waits.can_look;
	if (c->waits.only_polls)
		return kind_cpu_polls_started(k, g, e);
	/* Looking may create threads. */
	for (size_t i = 0; i < g->procs.n_threads; i++) {
		const struct procs_thread *t = g->procs.thread[i];
		if (!t->process || !kind_cpu_looks_is_first(k->config, t))
			continue;
		if (!VEC_PUSH(&first, ((struct first_thread){ t->process->pid, t->tid })))
			return err_errno(e, ENOMEM, "cannot set up recording");
	}
	c->waits.look->has_records = true;
	c->waits.active_ns = clock_monotonic_ns();
	for (size_t i = 0; i < first.n; i++) {
		waits_add_thread(&g->waits, first.v[i].pid, first.v[i].tid);
		if (c->waits.can_look)
			look_at(k, g, first.v[i].pid, first.v[i].tid);
	}
	threadread_close(c->waits.look);
	return 0;
}

struct looking {
	struct kind_session *session;
	struct engine *engine;
	uint64_t start_ns, start_cpu_ns, used_ns;
};

static bool look_unread(void *ctx, uint32_t pid, uint32_t tid)
{
	struct looking *l = ctx;
	look_at(l->session, l->engine, pid, tid);
	l->used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - l->start_cpu_ns;
	return l->used_ns < LOOKS_NS_MAX;
}

static bool look_lock(void *ctx, const struct waits_thread *t)
{
	struct looking *l = ctx;
	const struct lockread_wait lock = t->lock;
	struct kind_cpu *c = l->session->state;
	read_holder(&c->waits, l->engine, t->pid, t->tid, &lock);
	l->used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - l->start_cpu_ns;
	return l->used_ns < LOOKS_NS_MAX;
}

/* The holder changes, so it is read at once, for a tenth of the time at most. */
static void look_locks(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	struct looking l = { .session = k, .engine = g, .start_ns = clock_monotonic_ns(),
			     .start_cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) };
	if (!g->waits.unheld.n || l.start_ns < w->next_lock_ns)
		return;
	waits_looks_each_lock(&g->waits, look_lock, &l);
	w->next_lock_ns = l.start_ns + l.used_ns * LOOK_PART;
}

/* No short wait may be more likely to be met than its length says: the distances vary. */
static void read_short(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	struct looking l = { .session = k, .engine = g, .start_ns = clock_monotonic_ns(),
			     .start_cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) };
	if (l.start_ns < w->next_reading_ns)
		return;
	w->is_reading = true;
	waits_looks_each_short(&g->waits, look_unread, &l);
	w->is_reading = false;
	threadread_close(w->look);
	w->random = w->random * 1664525u + 1013904223u;
	uint64_t every_ns = READING_EVERY_NS / 2 + (w->random >> 8) % READING_EVERY_NS;
	uint64_t rest_ns = (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - l.start_cpu_ns) * READING_PART;
	w->next_reading_ns = clock_monotonic_ns() + (rest_ns > every_ns ? rest_ns : every_ns);
}

static void choose_notice(struct kind_cpu_waits *w, const struct engine *g)
{
	uint64_t n_placed = g->event[w->event].n_placed;
	bool is_idle = n_placed == w->n_placed;
	w->n_placed = n_placed;
	if (!is_idle || !w->notice_ms)
		w->notice_ms = NOTICE_MS_MIN;
	else if (w->notice_ms < NOTICE_MS_MAX)
		w->notice_ms *= 2;
}

static void note_switches(struct kind_cpu_waits *w, const struct engine *g, uint64_t now_ns)
{
	if (g->waits.n_switches != w->n_switches)
		w->active_ns = now_ns;
	w->n_switches = g->waits.n_switches;
}

/* How long new records may wait. */
static int quiet_ms(const struct kind_cpu_waits *w, uint64_t now_ns)
{
	uint64_t ms = (now_ns - w->active_ns) / 1000000u / QUIET_PART;
	return ms < QUIET_MS_MAX ? (int)ms : QUIET_MS_MAX;
}

void kind_cpu_looks_drained(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	struct looking l = { .session = k, .engine = g, .start_ns = clock_monotonic_ns(),
			     .start_cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) };
	if (!w->look)
		return;
	kind_cpu_tasks_drained(k, g);
	if (w->only_polls) {
		if (w->polls)
			kind_cpu_polls_drained(k, g);
		return;
	}
	kind_cpu_thin_drained(k, g);
	choose_notice(w, g);
	note_switches(w, g, l.start_ns);
	look_locks(k, g);
	kind_cpu_functions_drained(k, g);
	if (g->waits.n_partial != w->n_partial)
		w->partial_ns = l.start_ns;
	w->n_partial = g->waits.n_partial;
	if (!w->can_look || l.start_ns < w->next_ns)
		return;
	uint64_t after_ns = g->waits.is_thinned ? LOOK_AFTER_THINNED_NS : LOOK_AFTER_NS;
	waits_looks_each(&g->waits, l.start_ns - after_ns, look_unread, &l);
	threadread_close(w->look);
	uint64_t rest_ns = (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - l.start_cpu_ns) * LOOK_PART;
	uint64_t every_ns = g->waits.is_thinned ? LOOK_AFTER_THINNED_NS / 2 : LOOK_EVERY_NS;
	w->next_ns = clock_monotonic_ns() + (rest_ns > every_ns ? rest_ns : every_ns);
	if (g->waits.has_readings)
		read_short(k, g);
}

int kind_cpu_looks_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu_waits *w = &((const struct kind_cpu *)k->state)->waits;
	if (w->only_polls)
		return clock_sooner_ms(kind_cpu_polls_timeout_ms(k),
				       kind_cpu_tasks_timeout_ms(k));
	uint64_t now_ns = clock_monotonic_ns();
	int thin_ms = kind_cpu_thin_timeout_ms(k);
	int ms = clock_sooner_ms(thin_ms, k->config->locks ? LOCKS_EVERY_MS : -1);
	ms = clock_sooner_ms(ms, kind_cpu_functions_timeout_ms(k));
	ms = clock_sooner_ms(ms, kind_cpu_tasks_timeout_ms(k));
	bool has_partial = w->partial_ns && now_ns < w->partial_ns + PARTIAL_NS;
	if (!w->can_look)
		return ms;
	if (!w->only_looks && !has_partial && thin_ms < 0)
		return clock_sooner_ms(ms, w->notice_ms);
	int look_ms = now_ns < w->next_ns ? (int)((w->next_ns - now_ns) / 1000000u) + 1 : 1;
	if (w->only_looks && look_ms < quiet_ms(w, now_ns))
		look_ms = quiet_ms(w, now_ns);
	return clock_sooner_ms(ms, look_ms);
}
