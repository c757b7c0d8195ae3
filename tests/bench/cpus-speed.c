#include "tests/bench/cpus-speed.h"

#include "tests/bench/cpus-load.h"
#include "tests/bench/cpus-readers.h"
#include "tests/tools/simcpus.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define SLICE_NS 1000000u       /* of sleeping */
#define SLEEP_NS_MAX 100000000u

/* The machine's clock: it goes on while the calling thread reads. */
static struct {
	uint64_t base_ns, cpu_ns;
	clockid_t clock;               /* of that thread */
	double factor;
	bool reads;
} machine;

static uint64_t machine_ns(void)
{
	uint64_t cpu_ns = machine.reads ? cpus_clock_ns(machine.clock) - machine.cpu_ns : 0;
	return machine.base_ns + (uint64_t)((double)cpu_ns * machine.factor);
}

struct run {
	const struct cpus_speed *s;
	unsigned n_cpus;
	uint64_t ring_bytes;
	struct cpus_program *program;  /* one per CPU */
	uint64_t *due_ns, *n_reported; /* by CPU */
	struct cprof_recorder *recorder;
	uint64_t n_half, n_half_partial; /* samples, and those without a whole stack, of the first
					  * half of the time */
};

/* What the machine writes until now; returns the fill of the fullest ring. */
static uint64_t write_due(struct run *run)
{
	uint64_t now_ns = machine_ns(), fullest = 0;
	for (unsigned i = 0; i < run->n_cpus; i++) {
		struct cpus_program *p = &run->program[i];
		while (run->due_ns[i] <= now_ns) {
			const struct simcpus_at at = { .cpu = i, .time_ns = run->due_ns[i] };
			if (p->n_lost > run->n_reported[i] &&
			    simcpus_put_lost(&at, p->n_lost - run->n_reported[i]))
				run->n_reported[i] = p->n_lost;
			cpus_put_next(p, run->due_ns[i], true);
			run->due_ns[i] += p->is_sample ? SECOND_NS / run->s->hz : 1;
		}
		simcpus_publish(i);
		uint64_t fill = simcpus_fill(i);
		fullest = fill > fullest ? fill : fullest;
	}
	return fullest;
}

/* The readers' work; the machine's time goes on by what the busiest needs. */
static uint64_t read_rings(struct run *run)
{
	static uint64_t before[CPROF_READERS_MAX + 1], after[CPROF_READERS_MAX + 1];
	struct cprof_error e;
	uint64_t most_ns = 0, sum_ns = 0;
	memset(before, 0, sizeof(before));
	cpus_read_clocks(before);
	machine.cpu_ns = before[0];
	machine.reads = true;
	cpus_check(cprof_recorder_step(run->recorder, 0, NULL, 0, NULL, &e), &e);
	machine.reads = false;
	cpus_read_clocks(after);
	for (unsigned i = 0; i <= cpus_n_readers; i++) {
		uint64_t ns = after[i] - before[i];
		sum_ns += ns;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	machine.base_ns += (uint64_t)((double)most_ns * machine.factor);
	return sum_ns;
}

static uint64_t n_written(const struct run *run)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < run->n_cpus; i++)
		n += run->program[i].n_samples;
	return n;
}

static uint64_t n_partial(const struct run *run)
{
	struct cprof_stats st;
	cprof_recorder_stats(run->recorder, &st);
	return st.n_truncated + st.n_cut;
}

static double percent_whole(uint64_t n, uint64_t n_not)
{
	return 100 - 100 * (double)n_not / (double)(n ? n : 1);
}

static uint64_t run_machine(struct run *run)
{
	uint64_t ns = (uint64_t)(run->s->seconds * SECOND_NS), cpu_ns = 0;
	uint64_t half_ns = machine.base_ns + ns / 2, end_ns = machine.base_ns + ns;
	uint64_t read_ns = machine.base_ns;
	while (machine.base_ns < end_ns) {
		if (!run->n_half && machine.base_ns >= half_ns) {
			cpu_ns += read_rings(run);
			run->n_half = n_written(run);
			run->n_half_partial = n_partial(run);
		}
		uint64_t fullest = write_due(run);
		if (fullest >= run->ring_bytes / 4 || machine.base_ns - read_ns > SLEEP_NS_MAX) {
			cpu_ns += read_rings(run);
			read_ns = machine.base_ns;
		} else {
			machine.base_ns += SLICE_NS;
		}
	}
	return cpu_ns + read_rings(run);
}

static void explain(void *ctx, unsigned level, const char *text)
{
	(void)ctx, (void)level;
	if (getenv("CPUS_EXPLAIN"))
		fprintf(stderr, "%s\n", text);
}

static void start(struct run *run)
{
	const char *event = "cpu-clock";
	const struct cprof_config config = {
		.machine = simcpus_machine(), .all_processes = true, .scope = CPROF_SCOPE_CPU,
		.event = &event, .n_events = 1, .freq = "999", .ring_bytes = run->ring_bytes,
		.callgraph = cpus_has_capture() ? CPROF_CALLGRAPH_DWARF : CPROF_CALLGRAPH_FP,
		.on_reader = cpus_note_reader,
		.n_readers = run->s->threads ? run->s->threads : CPROF_READERS_AUTO,
		.labels_given = true, .labels = CPROF_LABEL_PID | CPROF_LABEL_TID,
		.explain = explain, .explain_max = CPROF_EXPLAIN_ALL,
	};
	struct cprof_error e;
	cpus_check(cprof_recorder_new(&config, &run->recorder, &e), &e);
	cpus_check(cprof_recorder_start(run->recorder, &e), &e);
}

void cpus_speed_head(void)
{
	printf("%6s %8s %8s %8s %9s %9s %9s %9s %9s %15s %9s %8s\n", "CPUs", "ring KiB",
	       "slower", "readers", "written", "lost", "reported", "whole", "2nd half",
	       "copies KiB", "CPU ns", "charged");
}

static void report(const struct run *run, uint64_t cpu_ns)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	uint64_t n = n_written(run), n_lost = 0, n_not = n_partial(run);
	for (unsigned i = 0; i < run->n_cpus; i++)
		n_lost += run->program[i].n_lost;
	cprof_recorder_stats(run->recorder, &st);
	cprof_recorder_event_stats(run->recorder, 0, &ev);
	printf("%6u %8u %8.1f %8u %9llu %9llu %9llu %7.2f %% %7.2f %% %7u to %4u %9.0f %8.1f\n",
	       run->n_cpus, (unsigned)(run->ring_bytes >> 10), run->s->factor, st.n_readers_max,
	       (unsigned long long)n, (unsigned long long)n_lost,
	       (unsigned long long)ev.n_lost_records, percent_whole(n, n_not),
	       percent_whole(n - run->n_half, n_not - run->n_half_partial),
	       st.stack_bytes_min >> 10, st.stack_bytes >> 10, (double)cpu_ns / (double)(n ? n : 1),
	       (double)st.peak_memory_bytes / (1 << 20));
	fflush(stdout);
}

/* As cprof does where it may: stack copies are larger then. */
static void raise_priority(void)
{
	const struct sched_param p = { .sched_priority = 1 };
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}

void cpus_speed_run(const struct cpus_speed *s, unsigned n_cpus)
{
	struct run run = { .s = s, .n_cpus = n_cpus };
	struct cprof_error e;
	run.ring_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	while (run.ring_bytes * 2 * n_cpus <= (uint64_t)s->mib << 20)
		run.ring_bytes *= 2;
	cpus_n_readers = 0;
	simcpus_open(n_cpus, run.ring_bytes);
	run.program = cpus_programs(n_cpus, n_cpus);
	run.due_ns = calloc(n_cpus, sizeof(*run.due_ns));
	run.n_reported = calloc(n_cpus, sizeof(*run.n_reported));
	machine.base_ns = cpus_clock_ns(CLOCK_MONOTONIC);
	machine.factor = s->factor;
	pthread_getcpuclockid(pthread_self(), &machine.clock);
	simcpus_set_clock(machine_ns);
	start(&run);
	raise_priority();
	for (unsigned i = 0; i < n_cpus; i++)
		run.due_ns[i] = machine.base_ns + (uint64_t)i * SECOND_NS / s->hz / n_cpus;
	uint64_t cpu_ns = run_machine(&run);
	cpus_check(cprof_recorder_stop(run.recorder, &e), &e);
	report(&run, cpu_ns);
	cprof_recorder_free(run.recorder);
	simcpus_set_clock(NULL);
	simcpus_close();
	free(run.program);
	free(run.due_ns);
	free(run.n_reported);
}
