/*
 * The last way to measure waits, where perf_event_open(2) is closed, as in many containers: each
 * thread is polled in /proc a hundred times per second.  The scheduler's account tells whether it
 * has run since, and how long.  If not, it still waits where it was, and costs one file; otherwise
 * it is looked at.  What records would tell is found out by polling, too: new threads and
 * processes, a new program, and ends.
 *
 * Polls are not evenly spaced, so that they do not fall into step with the program, and are rarer
 * where they take long.
 */

#include "recorder/kinds/kind-cpu.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "engine/engine-waits.h"
#include "source/record.h"
#include "source/silent.h"
#include "source/source.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EVERY_NS 10000000u
#define CHILDREN_EVERY 10u             /* polls */
#define POLL_PART 20u                  /* of the time, at most */
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
};

struct kind_cpu_polls {
	VEC(struct polled_process) process;
	VEC(struct polled_thread) thread;
	struct hashindex by_tid;
	uint32_t round, random;
	uint64_t last_ns, next_ns;
};

/* One round of polls. */
struct round {
	struct kind_session *session;
	struct engine *engine;
	struct kind_cpu_polls *polls;
	uint64_t now_ns;
};

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_closed(const struct evopen *open)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = open->fn(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == EPERM || errno == EACCES || errno == ENOSYS;
	close(fd);
	return false;
}

bool kind_cpu_polls_needed(const struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	for (size_t i = 0; i < c->events.n; i++)
		if (!c->events.v[i].waiting || c->events.v[i].has_raw)
			return false;
	return !k->config->all_processes && is_closed(&c->open);
}

int kind_cpu_polls_open(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	struct source *s;
	int r = silent_open(&s, e);
	if (r < 0)
		return r;
	k->source = s;
	k->only_targets = true;
	for (size_t i = 0; i < k->n_events; i++)
		k->event[i].rate = k->event[i].period = 1;
	copysize_init(&c->copysize, 0, true);
	log_line(k->log, LOG_NOTE, "waits: read in /proc every %u ms, since perf events are "
		 "closed: short waits, and where threads run, are not seen", EVERY_NS / 1000000);
	return 0;
}

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

static void give_poll(const struct round *p, const struct polled_thread *t,
		      const struct threadread_times *now)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)p->session->state)->waits;
	struct record r = record_of(p, PERF_RECORD_SAMPLE, t->pid, t->tid);
	bool is_seen = w->can_look &&
		       threadread_look(p->session->host, t->pid, t->tid, &w->regs, w->look,
				       &r) == 0;
	r.event = w->event;
	kind_cpu_looks_add(w, p->engine, &r, &(struct waits_look){
		.from_ns = p->now_ns, .is_poll = true, .since_ns = t->since_ns,
		.run_ns = now->run_ns - t->times.run_ns,
		.ready_ns = now->ready_ns - t->times.ready_ns,
		.n_runs = now->n_runs - t->times.n_runs,
		.is_waiting = is_seen && w->look->is_waiting,
		.is_disk = is_seen && w->look->is_disk,
		.lock = is_seen ? kind_cpu_looks_lock(&w->look->call) : (struct lockread_wait){ 0 },
		.at.reason = is_seen ? kind_cpu_looks_reason(w->look->call.syscall) : 0,
	});
}

/* A stack that is cut may be whole once the mappings have been read again. */
static void check_stack(const struct round *p, struct polled_thread *t)
{
	const struct waits_thread *w = waits_find(&p->engine->waits, t->tid);
	bool is_cut = w && w->is == WAITS_OFF_CPU && waits_is_known(w->at) && w->at.is_partial;
	t->again_ns = is_cut && t->n_tries < TRIES_MAX ? p->now_ns + AGAIN_NS : 0;
	t->n_tries += is_cut;
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

static void poll_thread(const struct round *p, uint32_t pid, uint32_t tid)
{
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
		give_poll(p, t, &now);
		check_stack(p, t);
	}
	t->times = now;
	t->since_ns = p->now_ns;
	t->round = p->polls->round;
}

/* False: it has ended. */
static bool poll_process(const struct round *p, struct polled_process *of)
{
	CLEANUP_FREE pid_t *tids = NULL;
	const struct cprof_config *c = p->session->config;
	check_exec(p, of);
	uint32_t pid = of->pid;
	if (of->is_waiting)
		return true;
	int n = synth_list(p->session->host, (pid_t)pid, &tids);
	bool has_children = !c->no_inherit && n <= CHILDREN_THREADS_MAX &&
			    p->polls->round % CHILDREN_EVERY == 0;
	for (int i = 0; i < n; i++)
		if (is_wanted(c, (uint32_t)tids[i]))
			poll_thread(p, pid, (uint32_t)tids[i]);
	/* It may move the array of processes. */
	for (int i = 0; has_children && i < n; i++)
		add_children(p, pid, (uint32_t)tids[i]);
	return n > 0;
}

static void end_threads(const struct round *p)
{
	struct kind_cpu_polls *l = p->polls;
	for (size_t i = l->thread.n; i-- > 0;) {
		const struct polled_thread *t = &l->thread.v[i];
		if (t->round == l->round)
			continue;
		struct record r = record_of(p, PERF_RECORD_EXIT, t->pid, t->tid);
		struct waits_thread *waits = waits_find(&p->engine->waits, t->tid);
		/* Up to the last poll it was where it had been seen. */
		if (waits)
			waits_count_until(&p->engine->waits, waits, l->last_ns);
		engine_feed(p->engine, &r);
		forget_thread(l, i);
	}
}

static void poll_all(const struct round *p)
{
	struct kind_cpu_polls *l = p->polls;
	struct kind_cpu_waits *w = &((struct kind_cpu *)p->session->state)->waits;
	l->round++;
	for (size_t i = l->process.n; i-- > 0;)
		if (!poll_process(p, &l->process.v[i]))
			l->process.v[i] = l->process.v[--l->process.n];
	end_threads(p);
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
	l->last_ns = p.now_ns;
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
	uint64_t every_ns = cpu_ns * POLL_PART > EVERY_NS ? cpu_ns * POLL_PART : EVERY_NS;
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
