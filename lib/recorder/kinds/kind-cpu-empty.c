/* The likely cause of a CPU profile without samples. */

#include "recorder/kinds/kind-cpu.h"

#include "base/commandpath.h"
#include "base/err.h"
#include "base/host.h"
#include "base/units.h"
#include "proc/childpids.h"
#include "proc/targetcheck.h"
#include "recorder/coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a list of ids. */
#define CHILDREN_SHOWN_MAX 96

/* Events that were enabled for less than this part of the CPU time were removed.  A command that
 * uses less time in total uses most of it before and in exec. */
#define REMOVED_PART 2u
#define REMOVED_MIN_NS 20000000u
#define REMOVED_THREAD_MIN_NS 1000000u  /* of each thread, on average */

/* The first target that is stopped, by a signal or a debugger; 0 if none is. */
static pid_t stopped_target(const struct kind_session *k)
{
	const struct cprof_config *c = k->config;
	for (size_t i = 0; i < c->n_pids + c->n_tids; i++) {
		pid_t id = i < c->n_pids ? c->pid[i] : c->tid[i - c->n_pids];
		if (targetcheck_is_stopped(k->host, id))
			return id;
	}
	return 0;
}

static bool is_recorded(const struct cprof_config *c, pid_t pid)
{
	for (size_t i = 0; i < c->n_pids; i++)
		if (c->pid[i] == pid)
			return true;
	return false;
}

/* The children of a process that are not recorded: ",12,13".  The first ones: those of a large
 * server are many. */
static void list_children(const struct kind_session *k, pid_t pid, char list[CHILDREN_SHOWN_MAX])
{
	struct childpids c = { 0 };
	size_t n = 0;
	list[0] = '\0';
	childpids_read(k->host, pid, &c);
	for (size_t i = 0; i < c.pids.n; i++) {
		if (is_recorded(k->config, c.pids.v[i]))
			continue;
		bool has_room = n + sizeof(",1234567890,...") <= CHILDREN_SHOWN_MAX;
		n += (size_t)sprintf(list + n, has_room ? ",%d" : ",...", (int)c.pids.v[i]);
		if (!has_room)
			break;
	}
	childpids_done(&c);
}

/* Suggests recording the existing children of an idle target: usually a server's workers. */
static bool hint_children(const struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	char list[CHILDREN_SHOWN_MAX];
	for (size_t i = 0; i < c->n_pids; i++) {
		list_children(k, c->pid[i], list);
		if (!list[0])
			continue;
		err_hint(e, "its existing children are processes of their own: --children, or "
			    "-p %d%s, records them, too", (int)c->pid[i], list);
		return true;
	}
	return false;
}

/* Were the events enabled for a small part of the time that the command used?  Then the kernel has
 * removed them, unless the command had many short threads: their creation is not part of it. */
static bool is_removed(const struct kind_session *k, const struct cprof_stats *st,
		       const struct cprof_event_stats *ev)
{
	return k->scope == CPROF_SCOPE_TASK && k->config->command_pid && !k->config->no_inherit &&
	       st->cpu_used_known && st->cpu_used_ns >= REMOVED_MIN_NS &&
	       st->cpu_used_ns / (st->n_born + 1) >= REMOVED_THREAD_MIN_NS &&
	       ev->time_enabled_ns < st->cpu_used_ns / REMOVED_PART;
}

static int explain_removed(const struct kind_session *k, const struct cprof_event_stats *ev,
			   struct err *e)
{
	char name[PATH_MAX];
	const char *file = k->config->command_file;
	const char *path = file ? commandpath_find(file, name) : NULL;
	const char *why = path ? targetcheck_privilege(path) : NULL;
	if (why)
		err_set(e, ENODATA, "there is no sample of '%s': the kernel lets no user record "
			"'%s', which %s", ev->name, file, why);
	else
		err_set(e, ENODATA, "there is no sample of '%s': the kernel lets no user record "
			"what the command has executed", ev->name);
	err_hint(e, "use --scope cpu (CAP_PERFMON or root): the kernel removes other events when "
		    "a process executes a file that is set-user-ID, set-group-ID, has "
		    "capabilities or may not be read");
	return -ENODATA;
}

/* The target used CPU time, but there is no sample. */
static void hint_unseen(const struct kind_session *k, const struct cprof_stats *st,
			const struct cprof_event_stats *ev, uint64_t period_ns, struct err *e)
{
	char period[UNITS_TEXT_MAX];
	if (ev->given_up_kernel)
		err_hint(e, "only its user code was sampled, and it may have spent its time in the "
			    "kernel: sampling that needs CAP_PERFMON or "
			    "kernel.perf_event_paranoid=1");
	else if (coverage_is_one_side(k->config, ev->name, false))
		err_hint(e, "only user code or only kernel code was sampled, and it may have spent "
			    "its time in the other one");
	else if (st->scope == CPROF_SCOPE_TASK)
		err_hint(e, "with --scope task each thread has its own timer on each CPU, so a "
			    "thread that used less than %s there has no sample\n"
			    "record longer, sample faster (-F), or instead of --scope task use "
			    "--scope cpu (CAP_PERFMON or root)",
			 units_duration_text(period_ns, period));
	else
		err_hint(e, "record longer, or sample faster (-F)");
}

static int explain_clock(const struct kind_session *k, const struct cprof_stats *st,
			 const struct cprof_event_stats *ev, struct err *e)
{
	char used[UNITS_TEXT_MAX], period[UNITS_TEXT_MAX];
	uint64_t period_ns = ev->freq_hz ? 1000000000u / ev->freq_hz : ev->period;
	if (!st->cpu_used_known) {
		err_set(e, ENODATA, "there is no sample of '%s'", ev->name);
		bool of_one = k->config->n_pids == 1 && !k->config->no_inherit;
		err_hint(e, "the target may have been idle or ended at once: record longer, or "
			 "sample faster (-F)%s", of_one ? "\nprocesses that it had already started "
			 "are recorded only with --children" : "");
	} else if (st->cpu_used_ns < 1000000u && st->duration_ns > 100000000u) {
		pid_t stopped = stopped_target(k);
		err_set(e, ENODATA, "there is no sample of '%s': the target was %s", ev->name,
			stopped ? "stopped" : "idle");
		if (stopped)
			err_hint(e, "continue it by 'kill -CONT %d', unless a debugger holds it",
				 (int)stopped);
		else if (!hint_children(k, e))
			err_hint(e, "record longer, or while it is working");
	} else if (st->cpu_used_ns < 5 * period_ns) {
		err_set(e, ENODATA, "there is no sample of '%s': the target used %s of CPU time, "
			"and a sample is taken every %s", ev->name,
			units_duration_text(st->cpu_used_ns, used),
			units_duration_text(period_ns, period));
		err_hint(e, "record longer, or sample faster (-F)");
	} else {
		err_set(e, ENODATA, "there is no sample of '%s', though the target used %s of CPU "
			"time", ev->name, units_duration_text(st->cpu_used_ns, used));
		hint_unseen(k, st, ev, period_ns, e);
	}
	return -ENODATA;
}

static int explain_counter(const struct cprof_event_stats *ev, struct err *e)
{
	if (ev->time_enabled_ns && !ev->time_running_ns) {
		err_set(e, ENODATA, "event '%s' never got a counter: all were in use", ev->name);
		err_hint(e, "request fewer events at once, or record for longer than their turns "
			    "(perf_event_mux_interval_ms, 4 ms by default); the NMI "
			    "watchdog may hold a counter (kernel.nmi_watchdog)");
	} else if (ev->counted == 0) {
		err_set(e, ENODATA, "event '%s' never happened", ev->name);
		err_hint(e, "the target may not do what it counts; a raw event or a virtual "
			    "machine's PMU may also open and never count: see 'cprof list'");
	} else if (ev->period && ev->counted < ev->period) {
		err_set(e, ENODATA, "there is no sample of '%s': it happened %llu time%s, and the "
			"period is %llu", ev->name, (unsigned long long)ev->counted,
			units_s(ev->counted),
			(unsigned long long)ev->period);
		err_hint(e, "record longer, or use a smaller period (-c)");
	} else if (!ev->counted_target) {
		err_set(e, ENODATA, "there is no sample of '%s' from the target", ev->name);
		err_hint(e, "record longer, or sample more often (-F, -c)");
	} else {
		err_set(e, ENODATA, "event '%s' counted %llu, but there is no sample", ev->name,
			(unsigned long long)ev->counted);
		err_hint(e, "the PMU may be unable to interrupt, as in some virtual machines: use "
			    "-e cpu-clock; or the event is too rare for this rate: use -c");
	}
	return -ENODATA;
}

static int explain_waits(const struct cprof_event_stats *ev, struct err *e)
{
	err_set(e, ENODATA, "event '%s' never happened: no thread waited%s", ev->name,
		strcmp(ev->sample_type, "delay") ? "" : " for a lock or a condition");
	err_hint(e, "record longer; or the target ran all the time: see -e cpu-clock");
	return -ENODATA;
}

int kind_cpu_why_empty(const struct kind_session *k, const struct cprof_stats *stats,
		       const struct cprof_event_stats *event, struct err *e)
{
	if (is_removed(k, stats, event))
		return explain_removed(k, event, e);
	if (event->is_waiting)
		return explain_waits(event, e);
	return event->is_clock ? explain_clock(k, stats, event, e) : explain_counter(event, e);
}
