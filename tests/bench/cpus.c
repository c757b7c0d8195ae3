/*
 * What a recording costs on machines with many CPUs: tests/tools/simcpus.h gives cprof the rings of
 * such a machine, and this program fills them.  Only the time in which cprof drains them counts.
 *
 *	cpus [-c CAPTURE] [-p PROCESSES] [-r ROUNDS] [-m MIB] [-t THREADS] [-j RECORDERS] CPUS...
 *	cpus -s SECONDS [-x FACTOR] [-c CAPTURE] [-m MIB] [-t THREADS] CPUS...
 *
 * CAPTURE is a recording by tests/tools/stackcap.  PROCESSES programs, one for each CPU unless
 * given, replay it (maps, forks and execs, and samples with their stack copies).  Each begins at
 * another place, and starts again when it is through.  Without CAPTURE, samples have callchains of
 * 40 frames, of eight threads of each process.
 *
 * MIB: of all rings together, 64 as in cprof.  A round fills them.
 *
 * CPU ns, wall ns: per sample, of all readers together.  busiest: the CPU time of the reader that
 * used most in each round, which is the wall time of a machine with nothing else to do.
 *
 * With -j, so many processes each record a machine of their own at the same time, and share
 * nothing: what this machine can do at most.  Samples, CPU and wall time are those of all together.
 *
 * With -s the programs run at their speed, see cpus-speed.h.
 */

#include "cprof.h"
#include "tests/bench/cpus-jobs.h"
#include "tests/bench/cpus-load.h"
#include "tests/bench/cpus-readers.h"
#include "tests/bench/cpus-speed.h"
#include "tests/tools/simcpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES 32768u

static uint64_t time_ns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static bool put_next(struct cpus_program *c)
{
	time_ns += 20;
	return cpus_put_next(c, time_ns, false);
}

/* All programs in turn, until the ring of each is full. */
static void fill(struct cpus_program *c, unsigned n, unsigned n_cpus)
{
	bool any = true;
	bool *is_full = calloc(n, sizeof(*is_full));
	if (!is_full)
		die("fill");
	while (any) {
		any = false;
		for (unsigned i = 0; i < n; i++) {
			is_full[i] = is_full[i] || !put_next(&c[i]);
			any |= !is_full[i];
		}
	}
	for (unsigned i = 0; i < n_cpus; i++)
		simcpus_publish(i);
	free(is_full);
}

/* ---- measuring ----------------------------------------------------------------------------- */

struct options {
	unsigned rounds, mib, threads, processes;
	const char *output;
};

static void measure(const struct options *o, unsigned n_cpus)
{
	uint64_t ring_bytes = (uint64_t)sysconf(_SC_PAGESIZE), cpu_ns = 0, wall_ns = 0, n = 0;
	uint64_t n_first = 0, busiest_ns = 0;
	static uint64_t before[CPROF_READERS_MAX + 1], after[CPROF_READERS_MAX + 1];
	cpus_n_readers = 0;
	unsigned n_programs = o->processes ? o->processes : n_cpus;
	while (ring_bytes * 2 * n_cpus <= (uint64_t)o->mib << 20)
		ring_bytes *= 2;
	simcpus_open(n_cpus, ring_bytes);
	const char *event = "cpu-clock";
	const struct cprof_config config = {
		.machine = simcpus_machine(), .all_processes = true, .scope = CPROF_SCOPE_CPU,
		.event = &event, .n_events = 1, .freq = "999", .ring_bytes = ring_bytes,
		.callgraph = cpus_has_capture() ? CPROF_CALLGRAPH_DWARF : CPROF_CALLGRAPH_FP,
		.stack_bytes = cpus_has_capture() ? STACK_BYTES : 0,
		.max_memory_bytes = (size_t)1 << 30,
		.n_readers = o->threads, .on_reader = cpus_note_reader,
		.labels_given = true, .labels = CPROF_LABEL_PID | CPROF_LABEL_TID,
	};
	struct cprof_error e;
	struct cprof_recorder *r;
	struct cpus_program *c = cpus_programs(n_programs, n_cpus);
	cpus_check(cprof_recorder_new(&config, &r, &e), &e);
	cpus_check(cprof_recorder_start(r, &e), &e);
	time_ns = cpus_clock_ns(CLOCK_MONOTONIC);
	while (__atomic_load_n(&cpus_n_readers, __ATOMIC_SEQ_CST) + 1 < o->threads)
		usleep(100);
	/* The first rounds open files and meet their rules and stacks for the first time. */
	unsigned warm_up = o->rounds / 2;
	for (unsigned i = 0; i < warm_up + o->rounds; i++) {
		fill(c, n_programs, n_cpus);
		cpus_jobs_meet();
		uint64_t cpu0 = cpus_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		uint64_t wall0 = cpus_clock_ns(CLOCK_MONOTONIC), most_ns = 0;
		cpus_read_clocks(before);
		cpus_check(cprof_recorder_step(r, 0, NULL, 0, NULL, &e), &e);
		if (i < warm_up) {
			n_first = 0;
			for (unsigned k = 0; k < n_programs; k++)
				n_first += c[k].n_samples;
			continue;
		}
		cpu_ns += cpus_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu0;
		wall_ns += cpus_jobs_longest(cpus_clock_ns(CLOCK_MONOTONIC) - wall0);
		cpus_read_clocks(after);
		for (unsigned k = 0; k <= cpus_n_readers; k++)
			if (after[k] - before[k] > most_ns)
				most_ns = after[k] - before[k];
		busiest_ns += cpus_jobs_longest(most_ns);
	}
	cpus_check(cprof_recorder_stop(r, &e), &e);
	for (unsigned i = 0; i < n_programs; i++)
		n += c[i].n_samples;
	n = cpus_jobs_sum(n);
	n_first = cpus_jobs_sum(n_first);
	cpu_ns = cpus_jobs_sum(cpu_ns);
	struct cprof_stats s;
	struct cprof_event_stats ev;
	struct rusage use;
	cprof_recorder_stats(r, &s);
	cprof_recorder_event_stats(r, 0, &ev);
	getrusage(RUSAGE_SELF, &use);
	double per = (double)(n - n_first), n_own = (double)(ev.n_samples ? ev.n_samples : 1);
	uint64_t n_delivered = cpus_jobs_sum(ev.n_samples);
	if (cpus_jobs_is_first())
		printf("%6u %8u %9llu %9llu %7.2f %% %9.0f %9.0f %9.0f %8.1f %8.1f\n", n_cpus,
		       o->threads, (unsigned long long)n, (unsigned long long)n_delivered,
		       100 - 100 * (double)(s.n_truncated + s.n_cut) / n_own,
		       (double)cpu_ns / per, (double)busiest_ns / per, (double)wall_ns / per,
		       (double)s.peak_memory_bytes / (1 << 20), (double)use.ru_maxrss / 1024);
	fflush(stdout);
	if (o->output && cpus_jobs_is_first())
		cpus_check(cprof_recorder_write_file(r, 0, o->output, &e), &e);
	cprof_recorder_free(r);
	simcpus_close();
	free(c);
}

int main(int argc, char **argv)
{
	struct options o = { .rounds = 4, .mib = 64, .threads = 1 };
	struct cpus_speed speed = { .hz = 999, .factor = 1 };
	unsigned n_jobs = 1;
	for (int c; (c = getopt(argc, argv, "c:p:r:m:t:o:s:x:j:")) != -1;) {
		switch (c) {
		case 'c': cpus_load_capture(optarg); break;
		case 'p': o.processes = (unsigned)atoi(optarg); break;
		case 'r': o.rounds = (unsigned)atoi(optarg); break;
		case 'm': o.mib = (unsigned)atoi(optarg); break;
		case 't': o.threads = (unsigned)atoi(optarg); break;
		case 'o': o.output = optarg; break;
		case 's': speed.seconds = atof(optarg); break;
		case 'j': n_jobs = (unsigned)atoi(optarg); break;
		case 'x': speed.factor = atof(optarg); break;
		default: optind = argc;
		}
	}
	if (optind >= argc) {
		fprintf(stderr, "usage: cpus [-c CAPTURE] [-p PROCESSES] [-r ROUNDS] [-m MIB] "
			"[-t THREADS] [-j RECORDERS] [-o PROFILE] [-s SECONDS [-x FACTOR]] "
			"CPUS...\n");
		return 64;
	}
	if (speed.seconds > 0) {
		speed.mib = o.mib;
		speed.threads = o.threads;
		cpus_speed_head();
		for (int i = optind; i < argc; i++)
			cpus_speed_run(&speed, (unsigned)atoi(argv[i]));
		return 0;
	}
	bool is_first = cpus_jobs_begin(n_jobs);
	if (is_first)
		printf("%6s %8s %9s %9s %9s %9s %9s %9s %8s %8s\n", "CPUs", "readers", "written",
		       "delivered", "whole", "CPU ns", "busiest", "wall ns", "charged", "RSS MiB");
	fflush(stdout);
	for (int i = optind; i < argc; i++)
		measure(&o, (unsigned)atoi(argv[i]));
	return cpus_jobs_end();
}
