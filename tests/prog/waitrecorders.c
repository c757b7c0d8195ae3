/*
 * A program that records its own waits with libcprof, for tests/live/waits-library.sh.  It measures
 * them by itself, and prints "PROMISE: yes" or "PROMISE: no (...)".
 *
 * kinds: several recorders at once with different rates.  thread: a thread that records itself.
 * snapshot: a snapshot during a wait.  refusals: configurations that make no sense.
 */
#include <cprof.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "prog.h"

static struct cprof_error e;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t delay_ns, elapsed_ns, n_delays, nap_ns, n_naps;

static void promise(int kept, const char *name, double got, double want)
{
	printf("%s: %s (%.6f, not %.6f) %s\n", name, kept ? "yes" : "no", got, want,
	       kept ? "" : e.what);
	fflush(stdout);
}

static void is_near(const char *name, double got, double want, double percent)
{
	double diff = got < want ? want - got : got - want;
	promise(diff <= want * percent / 100, name, got, want);
}

static void pass(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };
	nanosleep(&t, NULL);
}

PROG_NOINLINE static void contend(void)
{
	uint64_t begin = prog_clock_ns(CLOCK_MONOTONIC), from = prog_waited_ns();
	pthread_mutex_lock(&lock);
	delay_ns += prog_waited_ns() - from;
	elapsed_ns += prog_clock_ns(CLOCK_MONOTONIC) - begin;
	n_delays++;
	pthread_mutex_unlock(&lock);
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void nap(long us)
{
	uint64_t from = prog_clock_ns(CLOCK_MONOTONIC);
	pass(us);
	nap_ns += prog_clock_ns(CLOCK_MONOTONIC) - from;
	n_naps++;
	PROG_KEEP_FRAME();
}

static pthread_barrier_t both;

PROG_NOINLINE static void release(void)
{
	pthread_mutex_unlock(&lock);
	PROG_KEEP_FRAME();
}

/* Holds the lock whenever the other thread tries to take it. */
static void *hold(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&both);
		pass(4000);
		release();
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void *wait_for_it(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_barrier_wait(&both);
		contend();
		pthread_barrier_wait(&both);
	}
	return unused;
}

static void explain(void *unused, unsigned level, const char *text)
{
	(void)unused, (void)level;
	printf("# %s\n", text);
}

static struct cprof_recorder *begin(const struct cprof_config *config)
{
	struct cprof_config c = *config;
	struct cprof_recorder *r = NULL;
	c.explain = explain;
	c.explain_max = CPROF_EXPLAIN_NOTE;
	if (cprof_recorder_new(&c, &r, &e) == 0 && cprof_recorder_start(r, &e) == 0)
		return r;
	cprof_recorder_free(r);
	return NULL;
}

static struct cprof_event_stats stats_of(struct cprof_recorder *r)
{
	struct cprof_event_stats s;
	cprof_recorder_event_stats(r, 0, &s);
	return s;
}

enum { BLOCK, BLOCK_TIME, ALL, SOME, MUTEX, WALL, N_KINDS };

/* Each thread of hold and wait_for_it also waits at the barrier, which is a futex, too.  So the
 * profiles, and not the totals, are compared with the delays. */
static void kinds(void)
{
	const struct cprof_config config[N_KINDS] = {
		[BLOCK] = { .kind = cprof_block_recorder(), .self = CPROF_SELF_PROCESS,
			    .locks = true },
		[BLOCK_TIME] = { .kind = cprof_block_recorder(), .self = CPROF_SELF_PROCESS,
				 .period = "1ms" },
		[ALL] = { .kind = cprof_off_cpu_recorder(), .self = CPROF_SELF_PROCESS },
		[SOME] = { .kind = cprof_off_cpu_recorder(), .self = CPROF_SELF_PROCESS,
				 .period = "3" },
		[MUTEX] = { .kind = cprof_mutex_recorder(), .self = CPROF_SELF_PROCESS },
		[WALL] = { .kind = cprof_wall_recorder(), .self = CPROF_SELF_PROCESS,
			   .freq = "499" },
	};
	static const char *const path[] = { "block.pb.gz", "time.pb.gz", "all.pb.gz",
					    "some.pb.gz", "mutex.pb.gz", "wall.pb.gz" };
	struct cprof_recorder *r[N_KINDS];
	pthread_t thread[2];
	for (int i = 0; i < N_KINDS; i++) {
		r[i] = begin(&config[i]);
		if (!r[i])
			printf("# %s: %s\n", path[i], e.what);
	}
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread[0], NULL, hold, NULL);
	pthread_create(&thread[1], NULL, wait_for_it, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	for (int i = 0; i < N_KINDS; i++) {
		if (!r[i])
			continue;
		promise(cprof_recorder_stop(r[i], &e) == 0 &&
			cprof_recorder_write_file(r[i], 0, path[i], &e) == 0, path[i],
			(double)stats_of(r[i]).n_lost, 0);
	}
	/* They begin one after the other. */
	if (r[SOME] && r[ALL])
		is_near("one of 3 has the time of all",
			(double)stats_of(r[SOME]).value, (double)stats_of(r[ALL]).value, 8);
	if (r[BLOCK_TIME])
		promise(stats_of(r[BLOCK_TIME]).value % 1000000 == 0, "whole quanta",
			(double)stats_of(r[BLOCK_TIME]).value, 0);
	for (int i = 0; i < N_KINDS; i++)
		cprof_recorder_free(r[i]);
	printf("truth %.9f %.9f %llu\n", (double)delay_ns / 1e9, (double)elapsed_ns / 1e9,
	       (unsigned long long)n_delays);
}

static void *other(void *unused)
{
	for (int i = 0; i < 20; i++)
		pass(10000);
	return unused;
}

/* Another thread waits meanwhile, and is not in it. */
static void thread_itself(void)
{
	const struct cprof_config c = { .kind = cprof_off_cpu_recorder(),
					.self = CPROF_SELF_THREAD };
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	struct cprof_recorder *r = begin(&c);
	promise(r != NULL, "a thread records itself", 0, 0);
	for (int i = 0; i < 20 && r; i++)
		nap(10000);
	promise(r && cprof_recorder_stop(r, &e) == 0 &&
		cprof_recorder_write_file(r, 0, "thread.pb.gz", &e) == 0, "its profile", 0, 0);
	if (r)
		is_near("its own time", (double)stats_of(r).value, (double)nap_ns, 1);
	cprof_recorder_free(r);
	pthread_join(thread, NULL);
}

static void *sleep_long(void *unused)
{
	pass(1000000);
	return unused;
}

/* The sleeper is created before the recording, and wakes up when it is over. */
static void snapshot(void)
{
	const struct cprof_config c = { .kind = cprof_off_cpu_recorder(),
					.self = CPROF_SELF_PROCESS };
	pthread_t thread;
	pthread_create(&thread, NULL, sleep_long, NULL);
	pass(20000);
	struct cprof_recorder *r = begin(&c);
	uint64_t from = prog_clock_ns(CLOCK_MONOTONIC);
	promise(r != NULL, "a recorder of the process", 0, 0);
	pass(300000);
	double half = (double)(prog_clock_ns(CLOCK_MONOTONIC) - from);
	promise(r && cprof_recorder_snapshot(r, &e) == 0, "a snapshot while both wait", 0, 0);
	if (r)
		is_near("it has the time so far", (double)stats_of(r).value, 2 * half, 3);
	if (r)
		promise(cprof_recorder_clear(r, &e) == 0, "the next part", 0, 0);
	from = prog_clock_ns(CLOCK_MONOTONIC);
	pass(300000);
	half = (double)(prog_clock_ns(CLOCK_MONOTONIC) - from);
	promise(r && cprof_recorder_stop(r, &e) == 0, "the end", 0, 0);
	if (r)
		is_near("it has the time since then", (double)stats_of(r).value, 2 * half, 3);
	cprof_recorder_free(r);
	pthread_join(thread, NULL);
}

static void is_refused(const char *name, struct cprof_config c, const char *message)
{
	struct cprof_recorder *r = NULL;
	c.self = CPROF_SELF_THREAD;
	int code = cprof_recorder_new(&c, &r, &e);
	promise(code == -EINVAL && strstr(e.what, message), name, code, -EINVAL);
	cprof_recorder_free(r);
}

static void refusals(void)
{
	const char *event = "cycles";
	is_refused("events", (struct cprof_config){ .kind = cprof_block_recorder(),
						    .event = &event, .n_events = 1 },
		   "takes no further events");
	is_refused("a frequency", (struct cprof_config){ .kind = cprof_mutex_recorder(),
							 .freq = "99" }, "takes no frequency");
	is_refused("a period of 0", (struct cprof_config){ .kind = cprof_block_recorder(),
							   .period = "0" }, "period");
	is_refused("a period of millions", (struct cprof_config){
		.kind = cprof_off_cpu_recorder(), .period = "1000001" }, "above 1000000");
	is_refused("pauses", (struct cprof_config){ .kind = cprof_wall_recorder(),
						    .pausable = true }, "cannot be paused");
	is_refused("locks", (struct cprof_config){ .kind = cprof_off_cpu_recorder(),
						   .locks = true }, "waits for locks");
	promise(strcmp(cprof_kind_name(cprof_off_cpu_recorder()), "off-cpu") == 0 &&
		strcmp(cprof_kind_name(cprof_wall_recorder()), "wall") == 0 &&
		strcmp(cprof_kind_name(cprof_block_recorder()), "block") == 0 &&
		strcmp(cprof_kind_name(cprof_mutex_recorder()), "mutex") == 0, "names", 0, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "kinds") == 0)
		kinds();
	else if (strcmp(what, "thread") == 0)
		thread_itself();
	else if (strcmp(what, "snapshot") == 0)
		snapshot();
	else if (strcmp(what, "refusals") == 0)
		refusals();
	else
		return 64;
	return 0;
}
