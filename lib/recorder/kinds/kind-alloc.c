/*
 * Who allocates memory (alloc), and who holds it (heap): samples of libcprof-alloc.so, which come
 * through rings in shared memory (source/allocring.h).  The CPU kind delivers the mappings, forks
 * and ends of the targets with an event that never happens; between two of its records come the
 * samples of that time, so an address means what was mapped there then.
 *
 * Running programs may have the probes of the same contract without that library: these are more
 * events of the CPU kind (allocprobes.h).
 */

#include "recorder/kinds/kind-alloc.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/engine-allocs.h"
#include "profile/export.h"
#include "recorder/kinds/allocblocks.h"
#include "recorder/kinds/allocempty.h"
#include "recorder/kinds/allocprobes.h"
#include "recorder/kinds/kind-cpu-ops.h"
#include "recorder/preload.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Side-band records only: no instruction of x86-64 or arm64 raises this one in user code. */
#define NO_EVENT "emulation-faults:u"

#define NOTICE_MS_MIN 2
#define NOTICE_MS_MAX 20

static struct kind_alloc *state_of(const struct kind_session *k)
{
	return ((struct kind_cpu *)k->state)->alloc;
}

/* ---- choosing ------------------------------------------------------------------------------ */

static int refuse(const struct cprof_config *c, struct err *e)
{
	const char *what = c->peak && c->delta ? "peak of changes" :
			   c->n_events ? "events of perf" : c->freq ? "frequency" :
			   c->all_processes ? "recording of all processes" :
			   c->n_tids || c->no_inherit ? "recording of single threads" :
			   c->only_kernel ? "recording of the kernel" :
			   c->keep_last_ns ? "limit to the last time" :
			   c->self != CPROF_SELF_NONE ? "recording of the program itself" : NULL;
	if (!what)
		return 0;
	return err_set(e, EINVAL, "%s: a profile of memory has no %s", c->kind->name, what);
}

static void describe(struct kind_session *k)
{
	static const struct export_number number[] = { { "bytes", "bytes" }, { "age", "seconds" } };
	const struct kind_alloc *a = state_of(k);
	struct kind_event *ev = &k->event[0];
	ev->name = ev->file_part = a->is_heap ? "heap" : "alloc";
	ev->count_type = "alloc_objects";
	ev->sample_type = "alloc_space";
	ev->unit = "bytes";
	ev->is_memory = true;
	ev->held_count_type = a->is_heap ? "inuse_objects" : NULL;
	ev->held_type = a->is_heap ? "inuse_space" : NULL;
	ev->peak_count_type = a->has_peak ? "peak_objects" : NULL;
	ev->peak_type = a->has_peak ? "peak_space" : NULL;
	ev->period_type = "space";
	k->number = number;
	k->n_numbers = 2;
}

static int choose(struct kind_session *k, bool is_heap, struct err *e)
{
	const struct cprof_config *c = k->config;
	int r = refuse(c, e);
	if (r < 0)
		return r;
	const struct kind_cpu_only only = {
		.event = allocprobes_possible(k) ? NO_EVENT "," ALLOCPROBES_EVENTS : NO_EVENT,
		.probes = { .skips = allocprobes_skips, .is_optional = true },
	};
	r = kind_cpu_choose_only(k, &only, e);
	if (r < 0)
		return r;
	struct kind_cpu *cpu = k->state;
	struct kind_alloc *a = cpu->alloc = calloc(1, sizeof(*a));
	if (!a)
		return err_errno(e, ENOMEM, "cannot set up recording");
	a->is_heap = is_heap;
	a->has_peak = is_heap && c->peak;
	a->mean = c->period ? cpu->attr.rate_default_period : ALLOCFORMAT_MEAN;
	if (cpu->quantum_ns || !a->mean || a->mean > ALLOCBLOCKS_BYTES_MAX)
		return err_set(e, EINVAL, "'%s' is not a number of bytes between two samples",
			       c->period);
	/* The kernel's event keeps a rate of its own. */
	cpu->attr.rate_default_period = 1;
	allocprobes_join(k);
	describe(k);
	return 0;
}

static int choose_alloc(struct kind_session *k, struct err *e)
{
	return choose(k, false, e);
}

static int choose_heap(struct kind_session *k, struct err *e)
{
	return choose(k, true, e);
}

/* ---- opening ------------------------------------------------------------------------------- */

static uint32_t stack_bytes(const struct cprof_config *c)
{
	uint32_t n = c->stack_bytes ? c->stack_bytes : ALLOCFORMAT_STACK_BYTES;
	return n < ALLOCFORMAT_STACK_BYTES_MAX ? n : ALLOCFORMAT_STACK_BYTES_MAX;
}

static int open_kind(struct kind_session *k, struct err *e)
{
	struct kind_alloc *a = state_of(k);
	const struct cprof_config *c = k->config;
	int r = allocprobes_open(k, e);
	if (r < 0)
		return r;
	describe(k);
	k->event[0].is_freq = false;
	k->event[0].rate = k->event[0].period = a->mean;
	allocrings_init(&a->rings, k->host, k->log);
	a->rings.mean = a->mean;
	a->rings.stack_bytes = stack_bytes(c);
	a->rings.has_frees = a->is_heap;
	a->notice_ms = NOTICE_MS_MIN;
	if (!c->command_preload)
		return 0;
	struct allocring *ring = (struct allocring *)&c->command_preload->ring;
	if (allocring_start(ring, a->mean, a->rings.stack_bytes, a->is_heap) < 0)
		return err_set(e, EBUSY, "another recorder uses the memory for samples");
	a->rings.commands = ring;
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

struct reading {
	struct kind_session *session;
	struct engine *engine;
};

/* A record of a ring, of any process that it names: only targets have blocks. */
static void take_record(void *ctx, const struct record *r)
{
	const struct reading *g = ctx;
	allocblocks_take(state_of(g->session), g->engine, r);
}

/* ---- records of the kernel ------------------------------------------------------------------- */

/* What the command itself, or a process given by -p, had in use at its end is still shown. */
static bool is_root(const struct cprof_config *c, uint32_t pid)
{
	for (size_t i = 0; i < c->n_pids; i++)
		if ((uint32_t)c->pid[i] == pid)
			return true;
	return c->command_pid && (uint32_t)c->command_pid == pid;
}

static void note_process(struct kind_session *k, struct engine *g, const struct record *r)
{
	struct kind_alloc *a = state_of(k);
	const struct procs_process *p = procs_find(&g->procs, r->pid);
	bool is_exec = r->type == PERF_RECORD_COMM && r->comm.exec;
	bool is_end = r->type == PERF_RECORD_EXIT && p && p->exited;
	if (is_exec && is_root(k->config, r->pid))
		a->is_program_due = true;
	if (r->type == PERF_RECORD_FORK && r->fork.ppid != r->pid) {
		allocs_fork(&g->allocs, r->fork.ppid, r->pid);
		allocrings_fork(&a->rings, r->fork.ppid, r->pid);
	}
	if (is_exec || is_end)
		allocrings_forget(&a->rings, r->pid);
	if (is_exec || (is_end && !is_root(k->config, r->pid)))
		allocs_forget(&g->allocs, r->pid);
}

/* The file that the command executes, for messages. */
static void note_program(struct kind_session *k, const struct engine *g)
{
	struct kind_alloc *a = state_of(k);
	const struct procs_process *p = procs_find(&g->procs, (uint32_t)k->config->command_pid);
	if (!a->is_program_due || !p || p->exe == UINT32_MAX || !p->space.map.n)
		return;
	a->is_program_due = false;
	snprintf(a->program, sizeof(a->program), "%s", dso_get(&g->dsos, p->exe)->path);
}

static void feed(struct kind_session *k, struct engine *g, const struct record *r)
{
	struct reading reading = { k, g };
	if (r->type == PERF_RECORD_SAMPLE) {
		allocprobes_take(k, g, r);
		return;
	}
	allocrings_read(&state_of(k)->rings, r->time_ns, take_record, &reading);
	if (r->type == PERF_RECORD_EXIT)
		note_program(k, g);
	engine_feed(g, r);
	if (r->type == PERF_RECORD_FORK || r->type == PERF_RECORD_COMM ||
	    r->type == PERF_RECORD_EXIT)
		note_process(k, g, r);
}

/* ---- while recording ------------------------------------------------------------------------- */

/* The next reading comes when the ring is a small part full, at the present rate. */
static void set_notice(struct kind_alloc *a, uint64_t n_before, uint64_t now_ns)
{
	uint64_t n = a->n_taken - n_before, ns = now_ns - a->read_ns;
	const uint64_t wanted = ALLOCFORMAT_DATA_BYTES / 8 / a->rings.stack_bytes;
	a->read_ns = now_ns;
	uint64_t ms = n ? ns * wanted / n / 1000000 : NOTICE_MS_MAX;
	a->notice_ms = ms < NOTICE_MS_MIN ? NOTICE_MS_MIN :
		       ms > NOTICE_MS_MAX ? NOTICE_MS_MAX : (int)ms;
}

static void read_up_to(struct kind_session *k, struct engine *g, uint64_t now_ns)
{
	struct kind_alloc *a = state_of(k);
	struct reading reading = { k, g };
	uint64_t n_before = a->n_taken;
	allocrings_search(&a->rings, g);
	allocrings_read(&a->rings, now_ns, take_record, &reading);
	allocrings_tend(&a->rings, clock_monotonic_ns());
	set_notice(a, n_before, now_ns);
	allocrings_explain(&a->rings);
}

/* Before anything is counted: without a library in a running process there would be nothing. */
static int started(struct kind_session *k, struct engine *g, struct err *e)
{
	struct kind_alloc *a = state_of(k);
	g->allocs.is_delta = k->config->delta;
	g->allocs.has_peak = a->has_peak;
	g->allocs.has_age = a->is_heap && k->config->age;
	if (k->config->command_pid)
		return 0;
	allocrings_search(&a->rings, g);
	allocrings_explain(&a->rings);
	if (allocrings_n(&a->rings)) {
		if (a->no_probes.code)
			log_line(k->log, LOG_WARN, "the probes of a process cannot be used "
				 "without CAP_PERFMON: %s", a->no_probes.what);
		return 0;
	}
	if (allocprobes_any(k))
		return 0;
	if (a->no_probes.code) {
		*e = a->no_probes;
		return e->code;
	}
	return allocempty_no_process(k->host, k->config, e);
}

static void drained(struct kind_session *k, struct engine *g, uint64_t now_ns)
{
	kind_cpu_drained(k, g, now_ns);
	read_up_to(k, g, now_ns);
}

static void ended(struct kind_session *k, struct engine *g, uint64_t end_ns)
{
	read_up_to(k, g, end_ns);
	allocrings_stop(&state_of(k)->rings);
}

static int timeout_ms(const struct kind_session *k)
{
	return state_of(k)->notice_ms;
}

/* ---- results ------------------------------------------------------------------------------- */

static void set_stats(const struct kind_session *k, struct cprof_stats *ret)
{
	const struct kind_alloc *a = state_of(k);
	const struct allocring_losses lost = allocrings_losses(&a->rings);
	kind_cpu_stats(k, ret);
	ret->stack_bytes = ret->stack_bytes_min = a->rings.stack_bytes;
	ret->n_allocs_lost = lost.n_allocs;
	ret->n_frees_lost = lost.n_frees;
	ret->n_allocs_untracked = lost.n_untracked;
	ret->n_rings_bad = a->rings.stats.n_bad;
}

static double coverage(const struct kind_session *k, const struct cprof_stats *stats,
		       const struct cprof_event_stats *event)
{
	(void)k, (void)stats, (void)event;
	return -1;
}

static int why_empty(const struct kind_session *k, const struct cprof_stats *stats,
		     const struct cprof_event_stats *event, struct err *e)
{
	(void)stats, (void)event;
	return allocempty_why(state_of(k), k->config->command_file, allocprobes_any(k), e);
}

static void close_kind(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	if (c && c->alloc) {
		if (c->alloc->rings.commands && c->alloc->rings.commands->number)
			allocring_stop(c->alloc->rings.commands);
		allocrings_done(&c->alloc->rings);
		free(c->alloc);
	}
	kind_cpu_close(k);
}

#define KIND(kind_name, kind_choose)                                                            \
	{ .name = kind_name, .choose = kind_choose, .open = open_kind, .feed = feed,            \
	  .started = started, .drained = drained, .ended = ended, .timeout_ms = timeout_ms,     \
	  .stats = set_stats, .coverage_percent = coverage, .why_empty = why_empty,             \
	  .close = close_kind }

const struct cprof_kind *cprof_alloc_recorder(void)
{
	static const struct cprof_kind alloc = KIND("alloc", choose_alloc);
	return &alloc;
}

const struct cprof_kind *cprof_heap_recorder(void)
{
	static const struct cprof_kind heap = KIND("heap", choose_heap);
	return &heap;
}
