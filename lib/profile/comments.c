/* One line each, "key: text", readable for people and scripts. */
#include "profile/comments.h"

#include "base/units.h"
#include "profile/losses.h"
#include "source/source.h"

#include <errno.h>
#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void comments_done(struct comments *c)
{
	for (size_t i = 0; i < c->list.n; i++)
		free(c->list.v[i]);
	VEC_FREE(&c->list);
}

static void __attribute__((format(printf, 3, 4)))
say(struct comments *c, bool *failed, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0 || !VEC_PUSH(&c->list, text)) {
		if (n >= 0)
			free(text);
		*failed = true;
	}
}

const char *comments_scope_name(enum cprof_scope scope)
{
	switch (scope) {
	case CPROF_SCOPE_TASK: return "task";
	case CPROF_SCOPE_CPU: return "cpu";
	case CPROF_SCOPE_CGROUP: return "cgroup";
	case CPROF_SCOPE_AUTO: break;
	}
	return "auto";
}

static void say_rate(struct comments *c, bool *failed, const struct cprof_stats *st,
		     const struct cprof_event_stats *ev)
{
	double seconds = (double)st->duration_ns / 1e9;
	if (ev->is_snapshot)
		return;
	if (ev->is_waiting) {
		say(c, failed, "thread time: %.6f s in %.6f s, %.3f threads on average",
		    (double)ev->value / 1e9, seconds,
		    seconds > 0 ? (double)ev->value / 1e9 / seconds : 0.0);
		if (st->waits_from)
			say(c, failed, "waits measured by: %s", st->waits_from);
		if (ev->no_stack_ns)
			say(c, failed, "waits without a stack: %.6f s",
			    (double)ev->no_stack_ns / 1e9);
		if (ev->torn_ns)
			say(c, failed, "waits without an end, counted up to the next record of "
			    "their thread: %.6f s", (double)ev->torn_ns / 1e9);
		if (ev->n_unsampled && !st->switch_period_max)
			say(c, failed, "waits without a stack of their own: %llu of %llu, whose "
			    "time is divided among the places where their thread was read",
			    (unsigned long long)ev->n_unsampled,
			    (unsigned long long)ev->n_samples);
		else if (ev->n_unsampled)
			say(c, failed, "waits without a stack of their own: %llu of %llu, whose "
			    "time is divided among the others of their thread (--switch-rate); "
			    "at the least one of %llu had one",
			    (unsigned long long)ev->n_unsampled,
			    (unsigned long long)ev->n_samples,
			    (unsigned long long)st->switch_period_max);
		return;
	}
	if (ev->freq_hz)
		say(c, failed, "rate: %llu Hz requested; mean period %.0f %s",
		    (unsigned long long)ev->freq_hz,
		    ev->n_samples ? (double)ev->value / (double)ev->n_samples : 0.0, ev->unit);
	else
		say(c, failed, "rate: period %llu %s", (unsigned long long)ev->period, ev->unit);
	say(c, failed, "samples: %llu in %.3f s, %.1f per second",
	    (unsigned long long)ev->n_samples, seconds,
	    seconds > 0 ? (double)ev->n_samples / seconds : 0.0);
}

static void say_cuts(struct comments *c, bool *failed, const struct cprof_event_stats *ev,
		     const struct cprof_rate_cut *cuts)
{
	for (size_t i = 0; i < ev->n_rate_cuts; i++)
		say(c, failed, "rate lowered (--adaptive): %s%llu instead of %llu%s from %.3f s "
		    "on: %s",
		    cuts[i].is_freq ? "" : "period ", (unsigned long long)cuts[i].to,
		    (unsigned long long)cuts[i].from, cuts[i].is_freq ? " Hz" : "",
		    (double)cuts[i].time_ns / 1e9, cuts[i].why);
}

static void say_cost(struct comments *c, bool *failed, const struct cprof_stats *st)
{
	if (st->own_cpu_ns)
		say(c, failed, "cost: cprof itself %.3f s of CPU time when this was written",
		    (double)st->own_cpu_ns / 1e9);
	if (st->cost_known)
		say(c, failed, "cost: about %.6f s of the target's CPU time for sampling "
		    "(estimated)", (double)st->cost_ns / 1e9);
}

static void say_counted(struct comments *c, bool *failed, const struct cprof_stats *st,
			const struct cprof_event_stats *ev, double coverage_percent)
{
	/* Otherwise the counter was not read, or means something else. */
	if (ev->is_snapshot)
		return;
	if (!ev->is_clock && !ev->is_waiting && ev->counted)
		say(c, failed, "counted: %llu %s %s; sampled: %llu",
		    (unsigned long long)ev->counted, ev->sample_type,
		    ev->counted_target ? "by the target" : "by all tasks of these CPUs",
		    (unsigned long long)(ev->is_argument ? ev->n_samples : ev->value));
	if (st->cpu_used_known)
		say(c, failed, "cpu time used: %.6f s by the kernel's accounts%s",
		    (double)st->cpu_used_ns / 1e9, ev->is_clock ? "" : " (all events' target)");
	if (coverage_percent >= 0)
		say(c, failed, "coverage: samples cover %.1f %% of %s", coverage_percent,
		    ev->is_clock ? "the CPU time used" : "the events counted");
	if (ev->time_enabled_ns && !ev->is_waiting)
		say(c, failed, "event time: enabled %.6f s, running %.6f s (%.1f %%)",
		    (double)ev->time_enabled_ns / 1e9, (double)ev->time_running_ns / 1e9,
		    100.0 * (double)ev->time_running_ns / (double)ev->time_enabled_ns);
	if (ev->scale > 1)
		say(c, failed, "scaled (--scale): values are multiplied by %.6f, the time enabled "
		    "by the time running; counts of samples are not", ev->scale);
}

static void say_stacks(struct comments *c, bool *failed, const struct cprof_stats *st,
		       const struct cprof_stack_ends *ends, size_t n_ends)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < CPROF_N_STACK_ENDS; i++)
		sum += ends->n[i];
	if (!sum)
		return;
	say(c, failed, "stacks: %llu unwound by CFI, copies of %u bytes, %llu joined to the "
	    "thread's previous stack", (unsigned long long)sum, st->stack_bytes,
	    (unsigned long long)ends->n_joined);
	for (size_t i = 0; i < CPROF_N_STACK_ENDS; i++)
		if (ends->n[i])
			say(c, failed, "stack ends: %llu %s", (unsigned long long)ends->n[i],
			    cprof_stack_end_name(i));
	for (size_t f = 1; f < n_ends; f++)
		for (size_t i = 0; i < CPROF_N_STACK_ENDS; i++)
			if (ends[f].n[i])
				say(c, failed, "stack ends in %s: %llu %s",
				    ends[f].path && *ends[f].path ? ends[f].path : "[no file]",
				    (unsigned long long)ends[f].n[i], cprof_stack_end_name(i));
}

static void say_losses(struct comments *c, bool *failed, const struct cprof_losses *losses,
		       const struct cprof_event_stats *ev)
{
	const struct cprof_loss *loss;
	for (size_t i = 0; (loss = cprof_loss(i)); i++)
		if (loss->in_comments && losses->n[i])
			say(c, failed, "losses: %llu %.*s%s", (unsigned long long)losses->n[i],
			    units_first_word(losses->n[i], loss->words), loss->words,
			    loss->words + strcspn(loss->words, " "));
	if (ev->throttled_ns)
		say(c, failed, "losses: throttled for %.6f s, summed over threads and CPUs",
		    (double)ev->throttled_ns / 1e9);
}

static void say_user_only(struct comments *c, bool *failed, const struct cprof_stats *st,
			  const struct cprof_event_stats *ev)
{
	char missing[UNITS_TEXT_MAX], used[UNITS_TEXT_MAX];
	if (!st->user_only && !ev->given_up_kernel)
		return;
	say(c, failed, "user code only: the kernel could not be sampled");
	if (ev->is_clock && st->cpu_used_known && ev->value < st->cpu_used_ns)
		say(c, failed, "not in the profile: %s (%.0f %%) of %s of CPU time, most of it in "
		    "the kernel", units_duration_text(st->cpu_used_ns - ev->value, missing),
		    100.0 * (double)(st->cpu_used_ns - ev->value) / (double)st->cpu_used_ns,
		    units_duration_text(st->cpu_used_ns, used));
}

static void say_go(struct comments *c, bool *failed, const struct cprof_stats *st)
{
	if (st->n_go_labelled)
		say(c, failed, "Go labels: %llu sample%s exact, %llu read late, %llu "
		    "unknown", (unsigned long long)st->n_go_exact, units_s(st->n_go_exact),
		    (unsigned long long)st->n_go_late, (unsigned long long)st->n_go_unknown);
	if (st->n_go_labelled && st->n_go_late)
		say(c, failed, "Go labels: of those read late (go::labels=late) up to "
		    "%.1f %% may be wrong, because labels changed until they were read%s%s",
		    100 * st->go_late_wrong_max, *st->go_not_exact ? "; not exact: " : "",
		    st->go_not_exact);
	if (st->n_go_unsupported)
		say(c, failed, "Go labels: none of programs by %s, whose layout is unknown",
		    st->go_unsupported);
}

static uint64_t n_functions(const struct cprof_stats *st)
{
	return st->n_functions_exact + st->n_functions_remembered + st->n_functions_innermost +
	       st->n_functions_unknown + st->n_functions_mapped;
}

static double share_of(uint64_t n, const struct cprof_stats *st)
{
	return 100.0 * (double)n / (double)n_functions(st);
}

static void say_functions(struct comments *c, bool *failed, const struct cprof_stats *st)
{
	if (n_functions(st) > st->n_functions_mapped)
		say(c, failed, "functions of %s: %.1f %% of samples exact, %.1f %% with "
		    "remembered callers, %.1f %% with unknown callers, %.1f %% unknown; read "
		    "%.2f ms after the sample on average", st->functions_of,
		    share_of(st->n_functions_exact, st), share_of(st->n_functions_remembered, st),
		    share_of(st->n_functions_innermost, st), share_of(st->n_functions_unknown, st),
		    (double)st->functions_lag_ns / 1e6);
	if (st->n_functions_mapped)
		say(c, failed, "functions of %s: %.1f %% of samples named by the interpreter's "
		    "map", st->functions_of, share_of(st->n_functions_mapped, st));
	if (st->functions_refused && *st->functions_refused)
		say(c, failed, "functions of an interpreter are unknown in %" PRIu64
		    " sample%s: %s", st->n_functions_refused, units_s(st->n_functions_refused),
		    st->functions_refused);
}

int comments_make(struct comments *c, const struct cprof_config *config,
		  const struct source_facts *facts, const struct cprof_stats *st,
		  const struct cprof_event_stats *ev, const struct cprof_stack_ends *ends,
		  size_t n_ends, const struct cprof_rate_cut *cuts,
		  const struct cprof_scope_change *changes,
		  const struct cprof_losses *losses, double coverage_percent)
{
	bool failed = false;
	*c = (struct comments){ 0 };
	say(c, &failed, "cprof %s", CPROF_VERSION);
	say(c, &failed, "event: %s", ev->name);
	if (config->command_line)
		say(c, &failed, "command: %s", config->command_line);
	if (config->note)
		say(c, &failed, "%s", config->note);
	say(c, &failed, "machine: %s %s, Linux %s, %u CPU%s", facts->hostname, facts->arch,
	    facts->kernel_release, facts->n_cpus, units_s(facts->n_cpus));
	if (!ev->is_snapshot && st->scope != CPROF_SCOPE_AUTO)
		say(c, &failed, "scope: %s", comments_scope_name(st->scope));
	if (st->scope_reason && *st->scope_reason)
		say(c, &failed, "scope chosen: %s", st->scope_reason);
	for (size_t i = 0; i < st->n_scope_changes; i++)
		say(c, &failed, "scope changed: %s instead of %s from %.3f s on: %s",
		    comments_scope_name(changes[i].to), comments_scope_name(changes[i].from),
		    (double)changes[i].time_ns / 1e9, changes[i].why);
	if (st->n_readers_max > 1)
		say(c, &failed, "readers: up to %u threads", st->n_readers_max);
	if (config->all_processes)
		say(c, &failed, "target: all processes%s%s; %llu sample%s of cprof itself",
		    config->cpus ? ", on the CPUs " : "", config->cpus ? config->cpus : "",
		    (unsigned long long)st->n_own_samples, units_s(st->n_own_samples));
	if (ev->count_scale != 0 || (ev->count_unit && *ev->count_unit))
		say(c, &failed, "unit: each count is %.17g %s",
		    ev->count_scale != 0 ? ev->count_scale : 1.0,
		    ev->count_unit ? ev->count_unit : "");
	say_rate(c, &failed, st, ev);
	say_cuts(c, &failed, ev, cuts);
	if (ev->precise_asked > ev->precise)
		say(c, &failed, "precise level: %u instead of %u", ev->precise, ev->precise_asked);
	say_counted(c, &failed, st, ev, coverage_percent);
	say_cost(c, &failed, st);
	say_user_only(c, &failed, st, ev);
	if (st->kernel_names_hidden)
		say(c, &failed, "kernel functions without names: hidden by kernel.kptr_restrict");
	say_stacks(c, &failed, st, ends, n_ends);
	say_go(c, &failed, st);
	say_functions(c, &failed, st);
	say_losses(c, &failed, losses, ev);
	if (!failed)
		return 0;
	comments_done(c);
	return -ENOMEM;
}
