/*
 * How the watchdog sees that a reader starves: its state in /proc is "runnable", and its CPU clock
 * does not advance.  That needs nothing from the reader, holds for every thread alike, and leaves
 * out readers that wait for something else.
 *
 * Nobody may wait for the watchdog while it starves itself, so readers share no lock with it: the
 * list of readers only grows, and who changes a priority looks at the state afterwards.
 */

#include "cmd/realtime.h"

#include "base/clock.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Before a confirmation, and without CPU until the priority is given up.  The kernel gives normal
 * tasks their part once per second (sched_rt_period_us). */
#define CONFIRM_NS 20000000u
#define STARVED_NS 600000000u

#define HURRY_NICE (-10)

/* The shortest that the kernel accepts. */
#define SLICE_NS 100000u

struct realtime_reader {
	struct realtime_reader *next;
	pid_t tid;
	clockid_t cpu_clock;
	int stat_fd;
	bool is_raised;
	struct realtime_seen seen;     /* the watchdog's */
};

/* ---- priorities ------------------------------------------------------------------ */

static bool set_priority(pid_t tid, bool on)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	/* Where only RLIMIT_RTPRIO allows it, without CAP_SYS_NICE, SCHED_RESET_ON_FORK cannot be
	 * cleared again. */
	if (on)
		return sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0;
	return sched_setscheduler(tid, SCHED_OTHER, &p) == 0 ||
	       sched_setscheduler(tid, SCHED_OTHER | SCHED_RESET_ON_FORK, &p) == 0;
}

/* As the first version of struct sched_attr (sched_setattr(2)), which glibc 2.36 does not have. */
struct slice_attr {
	uint32_t n_bytes, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns, deadline_ns, period_ns;
};

/* Without the right to real-time priority: since Linux 6.12 a task that wants shorter slices of the
 * CPU gets the next one earlier, and not more of them. */
static void shorten_slice(pid_t tid)
{
	struct slice_attr a = { .n_bytes = sizeof(a) };
	if (syscall(SYS_sched_getattr, tid, &a, sizeof(a), 0) < 0 || a.policy != SCHED_OTHER)
		return;
	a.slice_ns = SLICE_NS;
	syscall(SYS_sched_setattr, tid, &a, 0);
}

bool realtime_hurry(int *ret_nice)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	errno = 0;
	*ret_nice = getpriority(PRIO_PROCESS, 0);
	/* A user who has asked for another priority gets it. */
	return errno == 0 && *ret_nice == 0 && setpriority(PRIO_PROCESS, 0, HURRY_NICE) == 0;
}

void realtime_calm(int nice)
{
	setpriority(PRIO_PROCESS, 0, nice);
}

static int load_state(const struct realtime *w)
{
	return __atomic_load_n(&w->state, __ATOMIC_SEQ_CST);
}

static struct realtime_reader *first_reader(const struct realtime *w)
{
	return __atomic_load_n(&w->first, __ATOMIC_ACQUIRE);
}

static struct realtime_reader *own_reader(const struct realtime *w)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	struct realtime_reader *r = first_reader(w);
	while (r && r->tid != tid)
		r = r->next;
	return r;
}

static struct realtime_reader *add_reader(struct realtime *w)
{
	char path[64];
	struct realtime_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->tid = (pid_t)syscall(SYS_gettid);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)r->tid);
	r->stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r->stat_fd < 0 || pthread_getcpuclockid(pthread_self(), &r->cpu_clock) != 0) {
		if (r->stat_fd >= 0)
			close(r->stat_fd);
		free(r);
		return NULL;
	}
	r->next = first_reader(w);
	while (!__atomic_compare_exchange_n(&w->first, &r->next, r, false, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE))
		;
	return r;
}

void realtime_raise(struct realtime *w)
{
	if (!w->is_started || load_state(w) == REALTIME_DROPPED)
		return;
	struct realtime_reader *r = own_reader(w);
	if (!r)
		r = add_reader(w);
	if (!r)
		return;
	__atomic_store_n(&r->is_raised, true, __ATOMIC_SEQ_CST);
	if (!set_priority(r->tid, true)) {
		__atomic_store_n(&r->is_raised, false, __ATOMIC_SEQ_CST);
		shorten_slice(r->tid);
		return;
	}
	int no = REALTIME_NO;
	__atomic_compare_exchange_n(&w->state, &no, REALTIME_YES, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	if (load_state(w) == REALTIME_DROPPED)
		realtime_lower(w);
}

void realtime_lower(struct realtime *w)
{
	struct realtime_reader *r = w->is_started ? own_reader(w) : NULL;
	if (!r || !__atomic_load_n(&r->is_raised, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&r->is_raised, false, __ATOMIC_SEQ_CST);
	set_priority(r->tid, false);
}

void realtime_on_reader(void *ctx, bool begins)
{
	if (begins)
		realtime_raise(ctx);
	else
		realtime_lower(ctx);
}

/* ---- the watchdog ---------------------------------------------------------------- */

bool realtime_look(struct realtime_seen *seen, uint64_t cpu_ns, bool is_runnable, uint64_t now_ns,
		   uint64_t late_ns)
{
	if (!is_runnable || cpu_ns != seen->cpu_ns) {
		*seen = (struct realtime_seen){ .cpu_ns = cpu_ns, .since_ns = now_ns - late_ns };
		return false;
	}
	seen->n++;
	return now_ns - seen->since_ns >= STARVED_NS && seen->n >= 2;
}

static bool is_runnable(const struct realtime_reader *r)
{
	char text[256];
	ssize_t n = pread(r->stat_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *name_end = strrchr(text, ')');  /* "TID (NAME) STATE ..." */
	return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Looks at one reader; *ret_pause_ns: until the next look, if that should be sooner. */
static bool is_starved(struct realtime_reader *r, uint64_t late_ns, uint64_t *ret_pause_ns)
{
	struct timespec cpu;
	if (!__atomic_load_n(&r->is_raised, __ATOMIC_SEQ_CST) ||
	    clock_gettime(r->cpu_clock, &cpu) < 0) {
		r->seen = (struct realtime_seen){ 0 };
		return false;
	}
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	/* Without this a reader that works all the time would be read in /proc, too. */
	bool runnable = (cpu_ns == r->seen.cpu_ns || late_ns) && is_runnable(r);
	bool starved = realtime_look(&r->seen, cpu_ns, runnable, now_ns, late_ns);
	if (runnable && now_ns + CONFIRM_NS >= r->seen.since_ns + STARVED_NS)
		*ret_pause_ns = CONFIRM_NS;
	return starved;
}

static void drop_priority(struct realtime *w)
{
	__atomic_store_n(&w->state, REALTIME_DROPPED, __ATOMIC_SEQ_CST);
	for (struct realtime_reader *r = first_reader(w); r; r = r->next)
		if (__atomic_load_n(&r->is_raised, __ATOMIC_SEQ_CST))
			set_priority(r->tid, false);
}

/* Sleeps; false: the end. */
static bool sleep_ns(struct realtime *w, uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / 1000000000u),
					(long)(until_ns % 1000000000u) };
	pthread_mutex_lock(&w->lock);
	while (!w->is_ending &&
	       pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT)
		;
	bool goes_on = !w->is_ending;
	pthread_mutex_unlock(&w->lock);
	return goes_on;
}

static void *watch_readers(void *ctx)
{
	struct realtime *w = ctx;
	uint64_t pause_ns = w->look_ns;
	for (;;) {
		uint64_t planned_ns = clock_monotonic_ns() + pause_ns;
		if (!sleep_ns(w, planned_ns))
			return NULL;
		uint64_t late_ns = clock_monotonic_ns() - planned_ns;
		late_ns = late_ns >= w->look_ns ? late_ns : 0;
		pause_ns = w->look_ns;
		for (struct realtime_reader *r = first_reader(w); r; r = r->next)
			if (is_starved(r, late_ns, &pause_ns)) {
				drop_priority(w);
				return NULL;
			}
	}
}

static bool start_watchdog(struct realtime *w)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;
	if (pthread_condattr_init(&monotonic) != 0)
		return false;
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&w->lock, NULL);
	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&w->watchdog, NULL, watch_readers, w) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started) {
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
	}
	return started;
}

void realtime_start(struct realtime *w, bool wanted, uint64_t look_ns)
{
	*w = (struct realtime){ .look_ns = look_ns };
	w->is_started = wanted && start_watchdog(w);
}

void realtime_stop(struct realtime *w)
{
	if (!w->is_started)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->watchdog, NULL);
	w->is_started = false;
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	while (w->first) {
		struct realtime_reader *r = w->first;
		w->first = r->next;
		close(r->stat_fd);
		free(r);
	}
}

enum realtime_state realtime_state(const struct realtime *w)
{
	return (enum realtime_state)load_state(w);
}

const char *realtime_state_name(enum realtime_state state)
{
	return state == REALTIME_YES ? "yes" : state == REALTIME_DROPPED ? "dropped" : "no";
}
