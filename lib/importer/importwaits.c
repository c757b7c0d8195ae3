/*
 * A sample of sched_switch becomes a sample of the thread that leaves its CPU, a SWITCH record of
 * its departure and one of the other thread's arrival.  If the file has SWITCH records itself, they
 * say the same, and the samples are used for their stacks only.
 *
 * perf records sched_switch for single tasks, too.  Then a task's departures are in the file, but
 * not its arrivals, and the lengths of waits are unknown.  Nothing in the events reveals that, but
 * the records do: on a CPU that is recorded as a whole, the thread that leaves it is the one that
 * got it at the switch before, except after a loss.  So unless the user wants waits, the samples
 * are counted as usual, too, and the end decides what is shown.
 *
 * A thread that existed before the recording waited, or ran, from its begin up to the first record
 * of it, which says which of the two.
 */

#include "importer/importwaits.h"

#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "engine/engine-waits.h"
#include "engine/waits-reason.h"
#include "importer/importfiles.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"
#include "symbolize/kernel/symkernel.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define NO_EVENT UINT32_MAX

/* The kernel reports this id for a task that has no ids any more. */
#define NO_TASK UINT32_MAX

/* Of the switches of a CPU that is recorded as a whole: the others follow losses, or switches of
 * tasks that the kernel hides.  In recordings of single tasks it was a fifth, while their threads
 * waited for each other.  Where the idle task leaves a CPU, no such proof is needed. */
#define CONTINUED_PERCENT_MIN 50

/* A bound far above any machine's CPU numbers. */
#define CPU_MAX 65536u

/* ---- what the file has --------------------------------------------------------------- */

static bool is_clock(const struct perf_event_attr *a)
{
	return (a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_CPU_CLOCK ||
						  a->config == PERF_COUNT_SW_TASK_CLOCK)) ||
	       (a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_CPU_CYCLES);
}

static void look_at_event(struct importwaits *w, size_t i)
{
	const struct source *s = w->files->source;
	const struct perf_event_attr *a = &perfdata_event(s, i)->attr;
	struct importwaits_event *ev = &w->event[i];
	const char *text = a->type == PERF_TYPE_TRACEPOINT && a->sample_type & PERF_SAMPLE_RAW
				   ? perfdata_tracepoint(s, a->config) : NULL;
	w->has_records |= a->context_switch;
	ev->is_clock = is_clock(a) && (a->sample_period || a->freq);
	w->has_clock |= ev->is_clock;
	ev->is_switches = a->type == PERF_TYPE_SOFTWARE &&
			  a->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
	if (text)
		schedpoint_init(&ev->point, text);
}

/* The event whose samples show where threads wait: with the tracepoint, the state is known. */
static uint32_t find_switches(const struct importwaits *w)
{
	uint32_t found = NO_EVENT;
	for (size_t i = w->n_file_events; i-- > 0;)
		if (w->event[i].is_switches || w->event[i].point.kind == SCHEDPOINT_SWITCH)
			found = found != NO_EVENT && w->event[i].is_switches ? found : (uint32_t)i;
	return found;
}

/* sched_wakeup may happen on another CPU than that of the waker. */
static uint32_t find_wakes(const struct importwaits *w)
{
	uint32_t found = NO_EVENT;
	for (size_t i = w->n_file_events; i-- > 0;)
		if (w->event[i].point.kind == SCHEDPOINT_WAKING)
			return (uint32_t)i;
		else if (w->event[i].point.kind == SCHEDPOINT_WAKEUP)
			found = (uint32_t)i;
	return found;
}

/* Was each switch sampled, with all that is needed to know how long the wait was? */
static bool is_for_waits(const struct importwaits *w)
{
	if (w->switches == NO_EVENT)
		return false;
	const struct perf_event_attr *a = &perfdata_event(w->files->source, w->switches)->attr;
	bool is_each = !a->freq && a->sample_period == 1;
	return is_each && (w->has_records || !w->event[w->switches].is_switches);
}

static int check_wanted(const struct importwaits *w, unsigned wanted, struct err *e)
{
	const char *lacks = NULL, *remedy = "";
	bool has_ends = w->has_records || (w->switches != NO_EVENT &&
					   w->event[w->switches].point.kind == SCHEDPOINT_SWITCH);
	if (!has_ends) {
		lacks = "records of switches";
		remedy = "perf record --switch-events adds them; so does -a -e sched:sched_switch";
	} else if (wanted >> (EVSPEC_WALL - 1) & 1 && !w->has_clock) {
		lacks = "samples of running threads";
		remedy = "add the event cpu-clock or cycles";
	} else if (wanted >> (EVSPEC_MUTEX - 1) & 1 && w->wakes == NO_EVENT) {
		lacks = "samples of wake-ups";
		remedy = "add the event sched:sched_waking";
	} else if (wanted & (1u << (EVSPEC_BLOCK - 1) | 1u << (EVSPEC_MUTEX - 1)) &&
		   w->switches == NO_EVENT) {
		lacks = "samples of switches, which show what a thread waits for";
		remedy = "add the event sched:sched_switch or context-switches with -c 1";
	}
	if (!lacks)
		return 0;
	err_set(e, EINVAL, "'%s' has no %s", w->path, lacks);
	err_hint(e, "%s", remedy);
	return -EINVAL;
}

/* Locks are found by the arguments of futex(2). */
static int check_locks(const struct importwaits *w, struct err *e)
{
	if (!w->wants_locks) {
		err_set(e, EINVAL, "no profile of waits for locks is chosen, which could have "
			"labels");
		err_hint(e, "choose it with --waits block or --waits mutex");
		return -EINVAL;
	}
	const struct perf_event_attr *a = &perfdata_event(w->files->source, w->switches)->attr;
	if (a->sample_type & PERF_SAMPLE_REGS_USER)
		return 0;
	err_set(e, EINVAL, "'%s' has no registers in its samples of switches, by which locks are "
		"found", w->path);
	err_hint(e, "record with perf record --call-graph dwarf");
	return -EINVAL;
}

/* ---- choosing -------------------------------------------------------------------------- */

enum { SWITCHES, CLOCKS, WAKES, N_USED };

/* The engine's event for samples that are used, and not counted. */
static uint32_t used_event(const struct importwaits *w, unsigned which)
{
	return (uint32_t)(w->n_file_events + w->n_profiles + which);
}

static int set_roles(struct importwaits *w)
{
	static const uint8_t role[] = {
		[EVSPEC_OFF_CPU] = WAITS_OFF, [EVSPEC_WALL] = WAITS_OFF | WAITS_RUN,
		[EVSPEC_BLOCK] = WAITS_LOCKS, [EVSPEC_MUTEX] = WAITS_WAKERS,
	};
	w->n_events = w->n_file_events + w->n_profiles + N_USED;
	w->roles = calloc(w->n_events, sizeof(*w->roles));
	if (!w->roles)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_profiles; i++)
		w->roles[w->n_file_events + i] = role[w->profile[i]];
	w->roles[used_event(w, SWITCHES)] = WAITS_SOURCE;
	w->roles[used_event(w, CLOCKS)] = WAITS_CLOCK;
	w->roles[used_event(w, WAKES)] = WAITS_WAKE;
	return 0;
}

int importwaits_choose(struct importwaits *w, unsigned wanted, bool is_asked, struct err *e)
{
	w->n_events = w->n_file_events = perfdata_n_events(w->files->source);
	w->is_asked = is_asked;
	w->event = calloc(w->n_file_events, sizeof(*w->event));
	if (!w->event)
		return err_errno(e, ENOMEM, "cannot set up the import");
	for (size_t i = 0; i < w->n_file_events; i++)
		look_at_event(w, i);
	w->switches = find_switches(w);
	w->wakes = find_wakes(w);
	if (!is_asked)
		wanted = is_for_waits(w) ? 1u << (EVSPEC_OFF_CPU - 1) : 0;
	int r = wanted ? check_wanted(w, wanted, e) : 0;
	w->wants_locks = wanted & (1u << (EVSPEC_BLOCK - 1) | 1u << (EVSPEC_MUTEX - 1));
	if (r == 0 && w->has_locks)
		r = check_locks(w, e);
	if (r < 0 || !wanted)
		return r;
	for (unsigned i = EVSPEC_OFF_CPU; i <= EVSPEC_MUTEX; i++)
		if (wanted >> (i - 1) & 1)
			w->profile[w->n_profiles++] = (enum evspec_waiting)i;
	if (!(wanted >> (EVSPEC_MUTEX - 1) & 1))
		w->wakes = NO_EVENT;
	if (!(wanted >> (EVSPEC_WALL - 1) & 1))
		w->has_clock = false;
	return set_roles(w) < 0 ? err_errno(e, ENOMEM, "cannot set up the import") : 0;
}

void importwaits_done(struct importwaits *w)
{
	free(w->event);
	free(w->roles);
	VEC_FREE(&w->on_cpu);
	w->event = NULL;
	w->roles = NULL;
}

/* ---- records --------------------------------------------------------------------------- */

/* The kernel's mappings precede the first sample. */
static void find_code(struct importwaits *w, struct engine *g)
{
	struct waits_code *code = g->waits.code;
	struct symkernel *names;
	size_t n = 0;
	w->no_locks = "it was recorded under another kernel, or after another boot";
	if (!importfiles_check_kernel(w->files))
		return;
	w->no_locks = "the addresses of the kernel's functions are hidden "
		      "(kernel.kptr_restrict, CAP_SYSLOG)";
	if (symkernel_open(w->files->host, &names, NULL) < 0)
		return;
	for (size_t i = 0; i < WAITS_N_FUNCTIONS; i++) {
		const struct waits_reason_function *f = &waits_reason_function[i];
		if (symkernel_code(names, f->name, &code[n].start, &code[n].end)) {
			code[n].reason = f->reason;
			code[n++].has_address = f->has_address;
		}
	}
	symkernel_close(names);
	if (n && code[0].reason == WAITS_FOR_LOCK)
		w->no_locks = NULL;
}

/* The thread of a record, which may have existed before the recording. */
static void know_thread(struct engine *g, uint32_t pid, uint32_t tid)
{
	const struct procs_thread *t = procs_find_thread(&g->procs, tid);
	if (!tid || tid == NO_TASK || waits_knows(&g->waits, tid) ||
	    (t && t->exited && t->process->pid == pid))
		return;
	waits_add_thread(&g->waits, pid, tid);
}

static void feed_switch(struct importwaits *w, struct engine *g, const struct record *r,
			uint32_t pid, uint32_t tid, struct record_switch how)
{
	struct record s = {
		.type = PERF_RECORD_SWITCH, .event = used_event(w, SWITCHES), .has_time = true,
		.time_ns = r->time_ns, .pid = pid, .tid = tid, .cpu = r->cpu,
		.context_switch = how,
	};
	engine_feed(g, &s);
}

/* The thread never runs again, and the record of its end was lost. */
static void end_thread(struct engine *g, const struct record *r)
{
	if (waits_knows(&g->waits, r->tid))
		waits_feed(&g->waits, &(struct record){
			.type = PERF_RECORD_EXIT, .time_ns = r->time_ns, .pid = r->pid,
			.tid = r->tid,
		});
}

/* Of the thread that gets the CPU only the id is known. */
static void feed_arrival(struct importwaits *w, struct engine *g, const struct record *r,
			 uint32_t tid)
{
	const struct procs_thread *t = procs_find_thread(&g->procs, tid);
	if (!tid || !t || !t->process || w->has_other_ids)
		return;
	know_thread(g, t->process->pid, tid);
	feed_switch(w, g, r, t->process->pid, tid, (struct record_switch){ .out = false });
}

/* Did the thread that leaves the CPU get it at the previous switch there? */
static void check_continuity(struct importwaits *w, uint32_t cpu,
			     const struct schedpoint_seen *seen)
{
	if (cpu >= CPU_MAX || !VEC_EXTEND(&w->on_cpu, cpu + 1))
		return;
	struct importwaits_cpu *c = &w->on_cpu.v[cpu];
	w->has_idle |= seen->tid == 0;
	w->n_continued += c->is_known && c->tid == seen->tid;
	w->n_compared += c->is_known;
	*c = (struct importwaits_cpu){ .is_known = true, .tid = seen->next_tid };
}

/* A thread leaves its CPU. */
static void feed_departure(struct importwaits *w, struct engine *g, const struct record *r)
{
	const struct schedpoint *p = &w->event[r->event].point;
	struct schedpoint_seen seen = { 0 };
	struct record sample = *r;
	bool is_point = p->kind == SCHEDPOINT_SWITCH &&
			schedpoint_read(p, r->sample.raw, r->sample.n_raw_bytes, w->is_swapped,
					&seen);
	if (w->n_switches++ == 0)
		find_code(w, g);
	if (is_point)
		check_continuity(w, r->cpu, &seen);
	w->has_other_ids |= is_point && r->tid && r->tid != NO_TASK && r->tid != seen.tid;
	w->disk_tid = seen.is_disk ? r->tid : 0;
	if (r->tid && seen.is_dead) {
		end_thread(g, r);
	} else if (r->tid) {
		know_thread(g, r->pid, r->tid);
		sample.event = used_event(w, SWITCHES);
		engine_feed(g, &sample);
		if (!w->has_records && is_point)
			feed_switch(w, g, r, r->pid, r->tid, (struct record_switch){
				.out = true, .preempt = seen.is_preempted, .disk = seen.is_disk,
			});
	}
	if (!w->has_records && is_point)
		feed_arrival(w, g, r, seen.next_tid);
}

/* The engine reads the layout of sched_waking that the kernel has had since it exists. */
static void feed_wake(struct importwaits *w, struct engine *g, const struct record *r)
{
	struct schedpoint_seen seen;
	uint8_t raw[SCHEDPOINT_WAKE_BYTES] = { 0 };
	struct record sample = *r;
	if (!schedpoint_read(&w->event[r->event].point, r->sample.raw, r->sample.n_raw_bytes,
			     w->is_swapped, &seen) || seen.is_interrupt || w->has_other_ids)
		return;
	memcpy(raw + SCHEDPOINT_WAKE_TID_AT, &seen.tid, sizeof(seen.tid));
	sample.event = used_event(w, WAKES);
	sample.sample.raw = raw;
	sample.sample.n_raw_bytes = sizeof(raw);
	engine_feed(g, &sample);
}

static bool feed_sample(struct importwaits *w, struct engine *g, const struct record *r)
{
	if (r->event >= w->n_file_events)
		return false;
	if (r->event == w->switches) {
		feed_departure(w, g, r);
		return w->is_asked || w->has_records;
	}
	if (r->event == w->wakes) {
		feed_wake(w, g, r);
		return true;
	}
	if (w->has_clock && w->event[r->event].is_clock && r->tid) {
		struct record sample = *r;
		sample.event = used_event(w, CLOCKS);
		know_thread(g, r->pid, r->tid);
		engine_feed(g, &sample);
	}
	return false;
}

bool importwaits_feed(struct importwaits *w, struct engine *g, const struct record *r)
{
	bool is_switch = r->type == PERF_RECORD_SWITCH || r->type == PERF_RECORD_SWITCH_CPU_WIDE;
	if (!w->n_profiles)
		return false;
	/* perf's descriptions of what existed before have no time. */
	if (!g->window.start_ns)
		g->window.start_ns = r->time_ns;
	if (r->time_ns > w->last_ns)
		w->last_ns = r->time_ns;
	if (!is_switch)
		return r->type == PERF_RECORD_SAMPLE && feed_sample(w, g, r);
	struct record s = *r;
	know_thread(g, r->pid, r->tid);
	s.context_switch.disk = r->context_switch.out && r->tid && r->tid == w->disk_tid;
	engine_feed(g, &s);
	return true;
}

/* ---- the end ----------------------------------------------------------------------------- */

static const char *why_wrong(const struct importwaits *w)
{
	if (w->has_records)
		return NULL;
	if (w->has_other_ids)
		return "its tracepoints have ids of another pid namespace than its samples";
	if (!w->has_idle && w->n_continued * 100 < w->n_compared * CONTINUED_PERCENT_MIN)
		return "it shows when threads left a CPU, but not when they got one again";
	return NULL;
}

/* The profiles of waits keep what they have counted, and are not shown. */
static int drop(struct importwaits *w, struct engine *g, const char *why, struct err *e)
{
	for (size_t i = 0; i < w->n_profiles; i++)
		g->event[w->n_file_events + i].n_samples = 0;
	w->switches = NO_EVENT;
	if (!w->is_asked) {
		log_line(w->log, LOG_NOTE, "no profile of waits: %s; perf record "
			 "--switch-events or -a records that", why);
		return 0;
	}
	err_set(e, EINVAL, "'%s' does not say how long threads waited: %s", w->path, why);
	err_hint(e, "record with perf record --switch-events, or with -a");
	return -EINVAL;
}

int importwaits_end(struct importwaits *w, struct engine *g, struct err *e)
{
	if (!w->n_profiles)
		return 0;
	const char *why = why_wrong(w);
	engine_settle(g, w->last_ns);
	if (why)
		return drop(w, g, why, e);
	g->window.first_ns = g->window.start_ns;
	g->window.last_ns = w->last_ns;
	if (!w->no_locks || !w->wants_locks)
		return 0;
	err_set(e, EINVAL, "cannot recognize waits for locks in '%s': %s", w->path, w->no_locks);
	err_hint(e, "import it where it was recorded, or choose off-cpu or wall");
	return -EINVAL;
}

bool importwaits_has_used(const struct importwaits *w, size_t i)
{
	return w->n_profiles && i < w->n_file_events && (i == w->switches || i == w->wakes);
}
