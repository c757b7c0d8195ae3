/*
 * The last way to measure waits, where perf_event_open(2) is closed, as in many containers: each
 * thread is polled in /proc a hundred times per second.  The scheduler's account tells whether it
 * has run since, and how long.  If not, it still waits where it was, and costs one file; otherwise
 * it is looked at.  What records would tell is found out by polling, too: new threads and
 * processes, a new program, and ends.
 *
 * A process whose CPU time has not changed since the last round has done nothing at all.
 *
 * Polls are not evenly spaced, so that they do not fall into step with the program, and are rarer
 * where they take long, and where nothing has run for some time.
 */

#include "recorder/kinds/kind-cpu-polls.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign.h"
#include "base/hash.h"
#include "base/host.h"
#include "engine/engine-waits.h"
#include "recorder/kinds/kind-cpu.h"
#include "source/record.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define EVERY_NS KIND_CPU_POLLS_EVERY_NS
#define CHILDREN_EVERY 10u             /* polls */
#define POLL_PART 20u                  /* of the time, at most */
#define QUIET_PART 32u                 /* of the time since something ran last */
#define QUIET_NS_MAX 50000000u
#define QUIET_POLL_PART 250u           /* a process' CPU time is that of thousands of threads */
#define CHILDREN_THREADS_MAX 64
/* Mappings are read once in that time (engine/reread-maps.h). */
#define AGAIN_NS 110000000u
#define TRIES_MAX 4u

struct polled_thread {
	uint32_t pid, tid, round;
	uint64_t since_ns;             /* of the last poll */
	struct threadread_times times;
	/* Its stack does not reach its root, maybe because its mappings have changed: when it is
	 * tried again, and how often it was. */
	uint64_t again_ns;
	unsigned n_tries;
};

struct polled_process {
	uint32_t pid;
	uint64_t exe_dev, exe_ino;
	bool is_waiting;               /* the command, before its exec */
	bool is_polled;                /* its threads are known */
	unsigned n_cut;                /* threads that are tried again */
	uint64_t cpu_ns, quiet_ns;     /* its CPU time; nothing has run up to that time */
};

struct kind_cpu_polls {
	VEC(struct polled_process) process;
	VEC(struct polled_thread) thread;
	struct hashindex by_tid;
	uint32_t round, random;
	uint64_t last_ns, next_ns, active_ns;  /* active: a process has run */
};

/* One round of polls. */
struct round {
	struct kind_session *session;
	struct engine *engine;
	struct kind_cpu_polls *polls;
	uint64_t now_ns;
};

/* ---- records that are missing ---------------------------------------------------------------- */

static struct record record_of(const struct round *p, uint32_t type, uint32_t pid, uint32_t tid)
{
	return (struct record){
		.type = type, .misc = PERF_RECORD_MISC_USER, .event = RECORD_NO_EVENT,
		.has_time = true, .time_ns = p->now_ns, .pid = pid, .tid = tid, .cpu = UINT32_MAX,
	};
}

static void feed(void *ctx, const struct record *r)
{
	engine_feed(ctx, r);
}

static void read_exe(const struct host *h, struct polled_process *p)
{
	CLEANUP_CLOSE int fd = host_open_process_link(h, p->pid, "exe");
	const struct foreign_want exe = { .dir_fd = fd, .path = "" };
	if (fd >= 0)
		foreign_identify(&exe, &p->exe_dev, &p->exe_ino);
}

static void feed_exec(const struct round *p, uint32_t pid)
{
	CLEANUP_FREE char *name = NULL;
	struct record r = record_of(p, PERF_RECORD_COMM, pid, pid);
	if (host_read_file(p->session->host, HOST_PROC, &name, NULL, "%u/comm", pid) < 0)
		return;
	name[strcspn(name, "\n")] = '\0';
	r.comm = (struct record_comm){ .comm = name, .exec = true };
	engine_feed(p->engine, &r);
	synth_process(p->session->host, (pid_t)pid, p->now_ns, feed, p->engine);
}

/* Is it another program since the last round? */
static void check_exec(const struct round *p, struct polled_process *of)
{
	struct polled_process now = *of;
	read_exe(p->session->host, &now);
	if (now.exe_dev == of->exe_dev && now.exe_ino == of->exe_ino)
		return;
	*of = now;
	of->is_waiting = false;
	feed_exec(p, of->pid);
}

static bool knows_process(const struct kind_cpu_polls *l, uint32_t pid)
{
	for (size_t i = 0; i < l->process.n; i++)
		if (l->process.v[i].pid == pid)
			return true;
	return false;
}

static void add_process(const struct round *p, uint32_t pid, bool is_waiting)
{
	struct polled_process fresh = { .pid = pid, .is_waiting = is_waiting };
	read_exe(p->session->host, &fresh);
	if (!knows_process(p->polls, pid))
		VEC_PUSH(&p->polls->process, fresh);  /* without memory it is missing */
}

static void add_children(const struct round *p, uint32_t pid, uint32_t tid)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(p->session->host, HOST_PROC, &text, NULL, "%u/task/%u/children", pid,
			   tid) < 0)
		return;
	for (char *at = text, *end; *at; at = end) {
		unsigned long id = strtoul(at, &end, 10);
		if (end == at)
			break;
		if (!id || id > INT32_MAX || knows_process(p->polls, (uint32_t)id))
			continue;
		struct record r = record_of(p, PERF_RECORD_FORK, (uint32_t)id, (uint32_t)id);
		r.fork = (struct record_fork){ .ppid = pid, .ptid = tid, .time_ns = p->now_ns };
		engine_feed(p->engine, &r);
		synth_process(p->session->host, (pid_t)id, p->now_ns, feed, p->engine);
		add_process(p, (uint32_t)id, false);
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct polled_thread *find_thread(const struct kind_cpu_polls *l, uint32_t tid)
{
	uint32_t at = HASHINDEX_FIND(&l->by_tid, hash_u64(tid), i, l->thread.v[i].tid == tid);
	return at == HASHINDEX_NONE ? NULL : &l->thread.v[at];
}

static void forget_thread(struct kind_cpu_polls *l, size_t at)
{
	size_t last = l->thread.n - 1;
	hashindex_remove(&l->by_tid, hash_u64(l->thread.v[at].tid), (uint32_t)at);
	if (at != last) {
		uint64_t hash = hash_u64(l->thread.v[last].tid);
		hashindex_remove(&l->by_tid, hash, (uint32_t)last);
		l->thread.v[at] = l->thread.v[last];
		hashindex_put(&l->by_tid, hash, (uint32_t)at);
	}
	l->thread.n--;
}

static void give_poll(const struct round *p, const struct polled_process *of,
		      const struct polled_thread *t, const struct threadread_times *now)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)p->session->state)->waits;
	struct record r = record_of(p, PERF_RECORD_SAMPLE, t->pid, t->tid);
	bool is_seen = w->can_look &&
		       threadread_look(p->session->host, t->pid, t->tid, &w->regs, w->look,
				       &r) == 0;
	bool is_waiting = is_seen && w->look->is_waiting;
	uint64_t since_ns = t->since_ns > of->quiet_ns ? t->since_ns : of->quiet_ns;
	r.event = w->event;
	/* What waits in the first round has done so since the recording began. */
	kind_cpu_looks_add(w, p->engine, &r, &(struct waits_look){
		.from_ns = p->now_ns, .is_poll = true,
		.since_ns = is_waiting && p->polls->round == 1 ? 0 : since_ns,
		.run_ns = now->run_ns - t->times.run_ns,
		.ready_ns = now->ready_ns - t->times.ready_ns,
		.n_runs = now->n_runs - t->times.n_runs,
		.is_waiting = is_waiting,
		.is_disk = is_seen && w->look->is_disk,
		.lock = is_seen ? kind_cpu_looks_lock(&w->look->call) : (struct lockread_wait){ 0 },
		.at.reason = is_seen ? kind_cpu_looks_reason(w->look->call.syscall) : 0,
	});
}

/* A stack that is cut may be whole once the mappings have been read again. */
static void check_stack(const struct round *p, struct polled_process *of, struct polled_thread *t)
{
	const struct waits_thread *w = waits_find(&p->engine->waits, t->tid);
	bool is_cut = w && w->is == WAITS_OFF_CPU && waits_is_known(w->at) && w->at.is_partial;
	t->again_ns = is_cut && t->n_tries < TRIES_MAX ? p->now_ns + AGAIN_NS : 0;
	t->n_tries += is_cut;
	of->n_cut += t->again_ns != 0;
	p->engine->reread.n_losses += is_cut;
}

static struct polled_thread *add_thread(const struct round *p, uint32_t pid, uint32_t tid)
{
	struct kind_cpu_polls *l = p->polls;
	const struct polled_thread fresh = { .pid = pid, .tid = tid, .since_ns = l->last_ns };
	if (!hashindex_reserve(&l->by_tid, false) || !VEC_PUSH(&l->thread, fresh))
		return NULL;
	hashindex_put(&l->by_tid, hash_u64(tid), (uint32_t)l->thread.n - 1);
	if (l->round > 1)
		synth_thread(p->session->host, (pid_t)pid, (pid_t)tid, p->now_ns, feed, p->engine);
	return &l->thread.v[l->thread.n - 1];
}

static bool is_wanted(const struct cprof_config *c, uint32_t tid)
{
	for (size_t i = 0; i < c->n_tids; i++)
		if ((uint32_t)c->tid[i] == tid)
			return true;
	return c->n_tids == 0;
}

static void poll_thread(const struct round *p, struct polled_process *of, uint32_t tid)
{
	uint32_t pid = of->pid;
	struct kind_cpu_waits *w = &((struct kind_cpu *)p->session->state)->waits;
	struct threadread_times now;
	struct polled_thread *t = find_thread(p->polls, tid);
	if (threadread_times(p->session->host, pid, tid, w->look, &now) < 0)
		return;
	bool is_first = !t;
	if (is_first)
		t = add_thread(p, pid, tid);
	if (!t)
		return;
	/* What it did before the first round is not ours. */
	if (is_first && p->polls->round == 1)
		t->times = now;
	bool has_run = now.n_runs != t->times.n_runs || now.run_ns != t->times.run_ns;
	if (has_run)
		t->n_tries = 0;
	if (is_first || has_run || (t->again_ns && p->now_ns >= t->again_ns)) {
		give_poll(p, of, t, &now);
		check_stack(p, of, t);
	} else {
		of->n_cut += t->again_ns != 0;
	}
	t->times = now;
	t->since_ns = p->now_ns;
	t->round = p->polls->round;
}

/* Up to the last poll they were where they had been seen. */
static void end_threads(const struct round *p, uint32_t pid)
{
	struct kind_cpu_polls *l = p->polls;
	for (size_t i = l->thread.n; i-- > 0;) {
		const struct polled_thread *t = &l->thread.v[i];
		if (t->pid != pid || t->round == l->round)
			continue;
		struct record r = record_of(p, PERF_RECORD_EXIT, t->pid, t->tid);
		struct waits_thread *waits = waits_find(&p->engine->waits, t->tid);
		if (waits)
			waits_count_until(&p->engine->waits, waits, l->last_ns);
		engine_feed(p->engine, &r);
		forget_thread(l, i);
	}
}

/* Has none of its threads run since the last round?  Then none was born, and none has ended. */
static bool is_quiet(const struct round *p, struct polled_process *of)
{
	clockid_t clock;
	if (clock_getcpuclockid((pid_t)of->pid, &clock) != 0)
		return false;
	uint64_t cpu_ns = clock_now_ns(clock);
	bool is_same = of->is_polled && cpu_ns == of->cpu_ns && !of->is_waiting && !of->n_cut;
	of->cpu_ns = cpu_ns;
	if (is_same)
		of->quiet_ns = p->now_ns;
	else
		p->polls->active_ns = p->now_ns;
	return is_same;
}

/* False: it has ended. */
static bool poll_process(const struct round *p, struct polled_process *of)
{
	CLEANUP_FREE pid_t *tids = NULL;
	const struct cprof_config *c = p->session->config;
	if (is_quiet(p, of))
		return true;
	check_exec(p, of);
	uint32_t pid = of->pid;
	if (of->is_waiting)
		return true;
	of->n_cut = 0;
	int n = synth_list(p->session->host, (pid_t)pid, &tids);
	bool has_children = !c->no_inherit && n <= CHILDREN_THREADS_MAX &&
			    p->polls->round % CHILDREN_EVERY == 0;
	for (int i = 0; i < n; i++)
		if (is_wanted(c, (uint32_t)tids[i]))
			poll_thread(p, of, (uint32_t)tids[i]);
	of->is_polled = true;
	end_threads(p, pid);
	/* It may move the array of processes. */
	for (int i = 0; has_children && i < n; i++)
		add_children(p, pid, (uint32_t)tids[i]);
	return n > 0;
}

static void poll_all(const struct round *p)
{
	struct kind_cpu_polls *l = p->polls;
	struct kind_cpu_waits *w = &((struct kind_cpu *)p->session->state)->waits;
	l->round++;
	for (size_t i = l->process.n; i-- > 0;)
		if (!poll_process(p, &l->process.v[i]))
			l->process.v[i] = l->process.v[--l->process.n];
	threadread_close(w->look);
	l->last_ns = p->now_ns;
}

/* ---- rounds ------------------------------------------------------------------------------ */

int kind_cpu_polls_started(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_cpu *c = k->state;
	struct kind_cpu_polls *l = calloc(1, sizeof(*l));
	if (!l)
		return err_errno(e, ENOMEM, "cannot set up recording");
	const struct round p = { k, g, l, clock_monotonic_ns() };
	c->waits.polls = l;
	l->last_ns = l->active_ns = p.now_ns;
	l->random = 1;
	if (k->config->command_pid)
		add_process(&p, (uint32_t)k->config->command_pid, true);
	for (size_t i = 0; i < g->procs.n_threads; i++) {
		const struct procs_thread *t = g->procs.thread[i];
		if (t->process && kind_cpu_looks_is_first(k->config, t))
			add_process(&p, t->process->pid, false);
	}
	poll_all(&p);
	return 0;
}

void kind_cpu_polls_drained(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_polls *l = ((struct kind_cpu *)k->state)->waits.polls;
	uint64_t cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	const struct round p = { k, g, l, clock_monotonic_ns() };
	if (p.now_ns < l->next_ns)
		return;
	poll_all(&p);
	cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	uint64_t rest_ns = cpu_ns * (l->active_ns == p.now_ns ? POLL_PART : QUIET_POLL_PART);
	uint64_t every_ns = rest_ns > EVERY_NS ? rest_ns : EVERY_NS;
	uint64_t quiet_ns = (p.now_ns - l->active_ns) / QUIET_PART;
	quiet_ns = quiet_ns < QUIET_NS_MAX ? quiet_ns : QUIET_NS_MAX;
	every_ns = every_ns > quiet_ns ? every_ns : quiet_ns;
	l->random = l->random * 1664525u + 1013904223u;
	l->next_ns = p.now_ns + every_ns / 4 * 3 + every_ns / 2 * (l->random >> 16) / 65536;
}

int kind_cpu_polls_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu_polls *l = ((const struct kind_cpu *)k->state)->waits.polls;
	uint64_t now_ns = clock_monotonic_ns();
	if (!l)
		return -1;
	return l->next_ns > now_ns ? (int)((l->next_ns - now_ns) / 1000000u) + 1 : 0;
}

void kind_cpu_polls_free(struct kind_cpu_polls *l)
{
	if (!l)
		return;
	VEC_FREE(&l->process);
	VEC_FREE(&l->thread);
	hashindex_done(&l->by_tid);
	free(l);
}
