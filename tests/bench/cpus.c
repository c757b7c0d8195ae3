/*
 * What a recording costs on machines with many CPUs: tests/tools/simcpus.h gives cprof the rings of
 * such a machine, and this program fills them.  Only the time in which cprof drains them counts.
 *
 *	cpus [-c CAPTURE] [-p PROCESSES] [-r ROUNDS] [-m MIB] [-t THREADS] CPUS...
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
 */

#include "cprof.h"
#include "tests/tools/simcpus.h"
#include "tests/tools/stackcap.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PID 100000u
#define PIDS_EACH 64u
#define STACK_BYTES 32768u
#define DEPTH 40u

static uint8_t *capture;
static size_t n_capture_bytes, n_capture_samples;
static uint32_t capture_pid[PIDS_EACH];
static unsigned n_capture_pids;

/* A program's place in the recording, and its CPU. */
struct cursor {
	unsigned number, cpu;
	size_t at;
	size_t n_skip;          /* samples left out in the first cycle */
	uint64_t n_samples;
	uint32_t state;
};

static uint64_t time_ns, n_written;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the recording ---------------------------------------------------------------------- */

static unsigned index_of_pid(uint32_t pid)
{
	for (unsigned i = 0; i < n_capture_pids; i++)
		if (capture_pid[i] == pid)
			return i;
	if (n_capture_pids == PIDS_EACH) {
		fprintf(stderr, "cpus: the recording has too many processes\n");
		exit(1);
	}
	capture_pid[n_capture_pids] = pid;
	return n_capture_pids++;
}

static void load_capture(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f || fseek(f, 0, SEEK_END) < 0)
		die(path);
	n_capture_bytes = (size_t)ftell(f);
	capture = malloc(n_capture_bytes);
	rewind(f);
	if (!capture || fread(capture, n_capture_bytes, 1, f) != 1)
		die(path);
	fclose(f);
	const struct stackcap_record *r;
	for (size_t at = sizeof(struct stackcap_head); at < n_capture_bytes;
	     at += sizeof(*r) + r->n_bytes) {
		r = (const struct stackcap_record *)(capture + at);
		n_capture_samples += r->type == STACKCAP_SAMPLE;
		if (r->type != STACKCAP_VDSO)
			index_of_pid(r->pid);
	}
}

static uint32_t pid_of(const struct cursor *c, uint32_t pid)
{
	return FIRST_PID + c->number * PIDS_EACH + index_of_pid(pid);
}

static bool put_captured_sample(const struct simcpus_at *at, const uint8_t *body)
{
	const struct stackcap_sample *s = (const struct stackcap_sample *)body;
	const uint64_t *from = (const uint64_t *)(s + 1);
	uint64_t regs[20] = { 0 };
	memcpy(regs, from, 9 * sizeof(*regs));            /* ax to ip */
	memcpy(regs + 12, from + 9, 8 * sizeof(*regs));   /* r8 to r15, after flags, cs, ss */
	return simcpus_put_sample(at, &(struct simcpus_sample){
		.ip = regs[8], .regs = regs, .stack = from + STACKCAP_N_REGS_X86,
		.n_stack_bytes = s->n_stack_bytes,
	});
}

static bool put_captured(struct cursor *c, const struct simcpus_at *at,
			 const struct stackcap_record *r)
{
	const uint8_t *body = (const uint8_t *)(r + 1);
	const struct stackcap_map *m = (const struct stackcap_map *)body;
	switch (r->type) {
	case STACKCAP_MAP:
		return simcpus_put_map(at, &(struct simcpus_map){
			.start = m->start, .len = m->len, .pgoff = m->pgoff,
			.prot = (uint32_t)m->prot, .path = (const char *)(m + 1),
		});
	case STACKCAP_EXEC:
		return simcpus_put_comm(at, "target", true);
	case STACKCAP_FORK: {
		uint32_t parent = pid_of(c, *(const uint32_t *)body);
		return simcpus_put_fork(at, parent, parent);
	}
	case STACKCAP_SAMPLE:
		if (c->n_skip) {
			c->n_skip--;
			return true;
		}
		if (!put_captured_sample(at, body))
			return false;
		c->n_samples++;
		return true;
	default:
		return true;
	}
}

static bool put_next_captured(struct cursor *c)
{
	if (c->at >= n_capture_bytes)
		c->at = 0;
	if (c->at == 0)
		c->at = sizeof(struct stackcap_head);
	const struct stackcap_record *r = (const struct stackcap_record *)(capture + c->at);
	uint32_t pid = r->type == STACKCAP_VDSO ? 0 : pid_of(c, r->pid);
	const struct simcpus_at at = { .cpu = c->cpu, .pid = pid, .tid = pid, .time_ns = time_ns };
	if (!put_captured(c, &at, r))
		return false;
	c->at += sizeof(*r) + r->n_bytes;
	return true;
}

/* ---- without a recording ----------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static bool put_map_of_self(const struct simcpus_at *at)
{
	return simcpus_put_map(at, &(struct simcpus_map){
		.start = 0x400000, .len = 0x100000, .prot = PROT_READ | PROT_EXEC,
		.path = "/proc/self/exe",
	});
}

/* Eight threads, now and then a new one and a new mapping. */
static bool put_next_made(struct cursor *c)
{
	uint32_t state = c->state, pid = FIRST_PID + c->number * PIDS_EACH;
	struct simcpus_at at = { .cpu = c->cpu, .pid = pid, .tid = pid, .time_ns = time_ns };
	bool done;
	uint32_t what = next_random(&state) % 256;
	at.tid += next_random(&state) % 8;
	if (c->at == 0 || what == 0) {
		done = put_map_of_self(&at);
	} else if (what == 1) {
		done = simcpus_put_fork(&at, pid, pid);
	} else if (what == 2) {
		done = simcpus_put_comm(&at, "thread", false);
	} else {
		uint64_t chain[DEPTH + 1] = { (uint64_t)PERF_CONTEXT_USER };
		unsigned depth = DEPTH - next_random(&state) % 8;
		uint32_t leaf = next_random(&state) % 64;
		for (unsigned i = 0; i < depth; i++)
			chain[1 + i] = 0x400000 + (i < depth / 3 ? leaf * 64 : 0) + i * 4096;
		done = simcpus_put_sample(&at, &(struct simcpus_sample){
			.ip = chain[1], .callchain = chain, .n_callchain = depth + 1,
		});
		c->n_samples += done;
	}
	if (!done)
		return false;
	c->state = state;
	c->at++;
	return true;
}

static bool put_next(struct cursor *c)
{
	time_ns += 20;
	if (!(capture ? put_next_captured(c) : put_next_made(c)))
		return false;
	n_written++;
	return true;
}

/* All programs in turn, until the ring of each is full. */
static void fill(struct cursor *c, unsigned n, unsigned n_cpus)
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

/* ---- the readers' clocks ------------------------------------------------------------------- */

static clockid_t reader_clock[CPROF_READERS_MAX];
static unsigned n_readers;

/* The recorder makes its threads one after the other, but they begin when they like. */
static void note_reader(void *ctx, bool begins)
{
	(void)ctx;
	if (begins)
		pthread_getcpuclockid(pthread_self(), &reader_clock[__atomic_fetch_add(
			&n_readers, 1, __ATOMIC_SEQ_CST)]);
}

/* CPU time of the caller's thread and of the others. */
static void read_clocks(uint64_t *ns)
{
	ns[0] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < n_readers; i++)
		ns[1 + i] = clock_ns(reader_clock[i]);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void check(int r, const struct cprof_error *e)
{
	if (r >= 0)
		return;
	fprintf(stderr, "cpus: %s\n", e->what);
	exit(1);
}

struct options {
	unsigned rounds, mib, threads, processes;
	const char *output;
};

static void add_processes(unsigned n_programs)
{
	unsigned n = capture ? n_capture_pids : 1;
	for (unsigned k = 0; k < n_programs; k++)
		for (unsigned i = 0; i < n; i++)
			simcpus_add_process(FIRST_PID + k * PIDS_EACH + i);
}

static void measure(const struct options *o, unsigned n_cpus)
{
	uint64_t ring_bytes = (uint64_t)sysconf(_SC_PAGESIZE), cpu_ns = 0, wall_ns = 0, n = 0;
	uint64_t n_first = 0, busiest_ns = 0;
	static uint64_t before[CPROF_READERS_MAX + 1], after[CPROF_READERS_MAX + 1];
	n_readers = 0;
	unsigned n_programs = o->processes ? o->processes : n_cpus;
	while (ring_bytes * 2 * n_cpus <= (uint64_t)o->mib << 20)
		ring_bytes *= 2;
	simcpus_open(n_cpus, ring_bytes);
	add_processes(n_programs);
	const char *event = "cpu-clock";
	const struct cprof_config config = {
		.machine = simcpus_machine(), .all_processes = true, .scope = CPROF_SCOPE_CPU,
		.event = &event, .n_events = 1, .freq = "999", .ring_bytes = ring_bytes,
		.callgraph = capture ? CPROF_CALLGRAPH_DWARF : CPROF_CALLGRAPH_FP,
		.stack_bytes = capture ? STACK_BYTES : 0, .max_memory_bytes = (size_t)1 << 30,
		.n_readers = o->threads, .on_reader = note_reader,
		.labels_given = true, .labels = CPROF_LABEL_PID | CPROF_LABEL_TID,
	};
	struct cprof_error e;
	struct cprof_recorder *r;
	struct cursor *c = calloc(n_programs, sizeof(*c));
	if (!c)
		die("cpus");
	for (unsigned i = 0; i < n_programs; i++) {
		c[i].number = c[i].state = i;
		c[i].cpu = i % n_cpus;
		c[i].n_skip = n_capture_samples ? i * 97u % n_capture_samples : 0;
	}
	check(cprof_recorder_new(&config, &r, &e), &e);
	check(cprof_recorder_start(r, &e), &e);
	time_ns = clock_ns(CLOCK_MONOTONIC);
	while (__atomic_load_n(&n_readers, __ATOMIC_SEQ_CST) + 1 < o->threads)
		usleep(100);
	/* The first rounds open files and meet their rules and stacks for the first time. */
	unsigned warm_up = o->rounds / 2;
	for (unsigned i = 0; i < warm_up + o->rounds; i++) {
		fill(c, n_programs, n_cpus);
		uint64_t cpu0 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		uint64_t wall0 = clock_ns(CLOCK_MONOTONIC), most_ns = 0;
		read_clocks(before);
		check(cprof_recorder_step(r, 0, NULL, 0, NULL, &e), &e);
		if (i < warm_up) {
			n_first = 0;
			for (unsigned k = 0; k < n_programs; k++)
				n_first += c[k].n_samples;
			continue;
		}
		cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu0;
		wall_ns += clock_ns(CLOCK_MONOTONIC) - wall0;
		read_clocks(after);
		for (unsigned k = 0; k <= n_readers; k++)
			if (after[k] - before[k] > most_ns)
				most_ns = after[k] - before[k];
		busiest_ns += most_ns;
	}
	check(cprof_recorder_stop(r, &e), &e);
	for (unsigned i = 0; i < n_programs; i++)
		n += c[i].n_samples;
	struct cprof_stats s;
	struct cprof_event_stats ev;
	struct rusage use;
	cprof_recorder_stats(r, &s);
	cprof_recorder_event_stats(r, 0, &ev);
	getrusage(RUSAGE_SELF, &use);
	double per = (double)(n - n_first);
	printf("%6u %8u %9llu %9llu %7.2f %% %9.0f %9.0f %9.0f %8.1f %8.1f\n", n_cpus, o->threads,
	       (unsigned long long)n, (unsigned long long)ev.n_samples,
	       100 - 100 * (double)(s.n_truncated + s.n_cut) / (double)(n ? n : 1),
	       (double)cpu_ns / per, (double)busiest_ns / per, (double)wall_ns / per,
	       (double)s.peak_memory_bytes / (1 << 20), (double)use.ru_maxrss / 1024);
	fflush(stdout);
	if (o->output)
		check(cprof_recorder_write_file(r, 0, o->output, &e), &e);
	cprof_recorder_free(r);
	simcpus_close();
	free(c);
}

int main(int argc, char **argv)
{
	struct options o = { .rounds = 4, .mib = 64, .threads = 1 };
	for (int c; (c = getopt(argc, argv, "c:p:r:m:t:o:")) != -1;) {
		switch (c) {
		case 'c': load_capture(optarg); break;
		case 'p': o.processes = (unsigned)atoi(optarg); break;
		case 'r': o.rounds = (unsigned)atoi(optarg); break;
		case 'm': o.mib = (unsigned)atoi(optarg); break;
		case 't': o.threads = (unsigned)atoi(optarg); break;
		case 'o': o.output = optarg; break;
		default: optind = argc;
		}
	}
	if (optind >= argc) {
		fprintf(stderr, "usage: cpus [-c CAPTURE] [-p PROCESSES] [-r ROUNDS] [-m MIB] "
			"[-t THREADS] [-o PROFILE] CPUS...\n");
		return 64;
	}
	printf("%6s %8s %9s %9s %9s %9s %9s %9s %8s %8s\n", "CPUs", "readers", "written",
	       "delivered", "whole", "CPU ns", "busiest", "wall ns", "charged", "RSS MiB");
	for (int i = optind; i < argc; i++)
		measure(&o, (unsigned)atoi(argv[i]));
	return 0;
}
