/*
 * Programs that replay a recording, or that make simple samples.  See cpus.c.
 */

#include "tests/bench/cpus-load.h"

#include "tests/tools/simcpus.h"
#include "tests/tools/stackcap.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_PID 100000u
#define PIDS_EACH 64u
#define DEPTH 40u

static uint8_t *capture;
static size_t n_capture_bytes, n_capture_samples;
static uint32_t capture_pid[PIDS_EACH];
static unsigned n_capture_pids;

static void die(const char *what)
{
	perror(what);
	exit(1);
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

void cpus_load_capture(const char *path)
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

static uint32_t pid_of(const struct cpus_program *c, uint32_t pid)
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

static bool put_captured(struct cpus_program *c, const struct simcpus_at *at,
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
		return true;
	default:
		return true;
	}
}

static bool put_next_captured(struct cpus_program *c, uint64_t time_ns, bool drops)
{
	if (c->at >= n_capture_bytes)
		c->at = 0;
	if (c->at == 0)
		c->at = sizeof(struct stackcap_head);
	const struct stackcap_record *r = (const struct stackcap_record *)(capture + c->at);
	uint32_t pid = r->type == STACKCAP_VDSO ? 0 : pid_of(c, r->pid);
	const struct simcpus_at at = { .cpu = c->cpu, .pid = pid, .tid = pid, .time_ns = time_ns };
	c->is_sample = r->type == STACKCAP_SAMPLE && !c->n_skip;
	bool done = put_captured(c, &at, r);
	if (done || drops)
		c->at += sizeof(*r) + r->n_bytes;
	return done;
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
static bool put_next_made(struct cpus_program *c, uint64_t time_ns, bool drops)
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
	}
	c->is_sample = c->at && what > 2;
	if (done || drops) {
		c->state = state;
		c->at++;
	}
	return done;
}

bool cpus_put_next(struct cpus_program *c, uint64_t time_ns, bool drops)
{
	bool done = capture ? put_next_captured(c, time_ns, drops)
			    : put_next_made(c, time_ns, drops);
	c->n_samples += done && c->is_sample;
	c->n_lost += !done && drops && c->is_sample;
	return done;
}

bool cpus_has_capture(void)
{
	return capture;
}

struct cpus_program *cpus_programs(unsigned n, unsigned n_cpus)
{
	struct cpus_program *c = calloc(n, sizeof(*c));
	unsigned n_pids = capture ? n_capture_pids : 1;
	if (!c)
		die("cpus");
	for (unsigned i = 0; i < n; i++) {
		c[i].number = c[i].state = i;
		c[i].cpu = i % n_cpus;
		c[i].n_skip = n_capture_samples ? i * 97u % n_capture_samples : 0;
		for (unsigned k = 0; k < n_pids; k++)
			simcpus_add_process(FIRST_PID + i * PIDS_EACH + k);
	}
	return c;
}
