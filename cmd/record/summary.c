/* One line for each event; its details follow, indented, if there is something to report. */
#include "cmd/record/summary.h"

#include "base/units.h"
#include "cmd/record/gap.h"
#include "cmd/record/gosummary.h"
#include "cmd/record/pysummary.h"
#include "cmd/summaryparts.h"
#include "cmd/printable.h"
#include "cprof-losses.h"
#include "cprof.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void collect_losses(const struct summary *s, struct cprof_losses *ret)
{
	size_t silent = cprof_loss_row("silent");
	cprof_recorder_losses(s->recorder, ret);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++)
		ret->n[silent] += s->file[i].silent;
}

double summary_own_cpu_s(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

bool summary_has_losses(const struct summary *s)
{
	struct cprof_losses losses;
	const struct cprof_loss *loss;
	collect_losses(s, &losses);
	for (size_t i = 0; (loss = cprof_loss(i)); i++)
		if (loss->record == CPROF_LOSS_STRICT && losses.n[i])
			return true;
	return false;
}

void summary_print_quiet(const struct summary *s, bool any, FILE *to)
{
	struct cprof_losses losses;
	collect_losses(s, &losses);
	summaryparts_losses_quiet(&losses, SUMMARYPARTS_RECORD, any, to);
}

/* ---- for people -------------------------------------------------------------------- */

static const char *scope_name(enum cprof_scope scope)
{
	return scope == CPROF_SCOPE_TASK ? "task" : scope == CPROF_SCOPE_CPU ? "cpu" : "cgroup";
}

static uint64_t scaled(uint64_t value, double scale)
{
	return scale == 1 ? value : (uint64_t)((double)value * scale + 0.5);
}

/* Details about an event's samples, below its line. */
static void print_particulars(const struct summary *s, FILE *to, size_t i,
			      const struct cprof_event_stats *ev)
{
	struct cprof_rate_cut cut;
	char text[UNITS_TEXT_MAX];
	for (size_t k = 0; cprof_recorder_rate_cut(s->recorder, i, k, &cut); k++) {
		if (k + 1 < ev->n_rate_cuts && !s->verbose)
			continue;
		fprintf(to, "  %s lowered to %s%" PRIu64 "%s after %s (--adaptive): %s\n", ev->name,
			cut.is_freq ? "" : "a period of ", cut.to, cut.is_freq ? " Hz" : "",
			units_duration_text(cut.time_ns, text), cut.why);
	}
	if (ev->no_stack_ns)
		fprintf(to, "  %s of %s is in waits without a stack: short, or not sampled\n",
			units_duration_text(ev->no_stack_ns, text), ev->name);
	if (ev->torn_ns)
		fprintf(to, "  %s of %s is in waits whose end has no record: they are counted up "
			"to the next record of their thread\n",
			units_duration_text(ev->torn_ns, text), ev->name);
	struct cprof_stats st;
	cprof_recorder_stats(s->recorder, &st);
	if (ev->n_unsampled)
		fprintf(to, "  %" PRIu64 " of %" PRIu64 " waits of %s %s the stacks of others: "
			"%s\n", ev->n_unsampled, ev->n_samples, ev->name,
			units_word(ev->n_unsampled, "has", "have"),
			st.switch_period_max ? "there were too many for a stack each" :
					       "they were too short to be read");
	if (ev->n_rate_cuts && st.scope == CPROF_SCOPE_TASK)
		fprintf(to, "  but not in threads and children that had inherited it "
			"(scope task)\n");
	if (ev->throttled_ns)
		fprintf(to, "  %s was throttled for %s, summed over threads and CPUs\n", ev->name,
			units_duration_text(ev->throttled_ns, text));
}

static bool has_waits(const struct summary *s)
{
	struct cprof_event_stats ev;
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++) {
		cprof_recorder_event_stats(s->recorder, i, &ev);
		if (ev.is_waiting)
			return true;
	}
	return false;
}

/* Two digits, but never an exponent. */
static void print_share(FILE *to, double percent)
{
	fprintf(to, percent < 99.5 ? ", %.2g %% of its time" : ", %.0f %% of its time", percent);
}

static void print_cost(const struct summary *s, FILE *to, const struct cprof_stats *st)
{
	char own[UNITS_TEXT_MAX], cost[UNITS_TEXT_MAX];
	fprintf(to, "  cprof used %s of CPU time",
		units_duration_text((uint64_t)(s->own_cpu_s * 1e9), own));
	if (st->cost_known) {
		fprintf(to, "; sampling cost the target about %s",
			units_duration_text(st->cost_ns, cost));
		/* What waits uses little CPU time, so that a share of it would mean nothing. */
		if (st->cpu_used_known && st->cpu_used_ns && !has_waits(s))
			print_share(to, 100.0 * (double)st->cost_ns / (double)st->cpu_used_ns);
	}
	fputc('\n', to);
}

/* The kernel has removed the events of some program, which may be all that is missing. */
static bool has_unrecorded(const struct summary *s)
{
	struct cprof_losses losses;
	collect_losses(s, &losses);
	return losses.n[cprof_loss_row("unrecorded")];
}

/* For the first event: others miss the same names. */
static void print_unnamed(const struct summary *s, FILE *to)
{
	struct cprof_unnamed u = { 0 };
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder) && u.percent <= 0; i++)
		if (s->file[i].path)
			cprof_recorder_unnamed(s->recorder, i, &u);
	if (u.percent > 0)
		fprintf(to, "  %.0f %% of it is %s%s%s\n", u.percent, u.what,
			u.remedy ? ": " : "", u.remedy ? u.remedy : "");
}

static void print_event(const struct summary *s, FILE *to, size_t i)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	char text[UNITS_TEXT_MAX];
	cprof_recorder_stats(s->recorder, &st);
	cprof_recorder_event_stats(s->recorder, i, &ev);
	fprintf(to, "cprof record: %" PRIu64 " sample%s of ", ev.n_samples,
		units_s(ev.n_samples));
	printable_text(to, ev.name);
	if (ev.is_waiting)
		fprintf(to, ", %s of thread time", units_duration_text(ev.value, text));
	else if (ev.is_clock)
		fprintf(to, ", %s of CPU time",
			units_duration_text(scaled(ev.value, ev.scale), text));
	else if (strcmp(ev.unit, "bytes") == 0)
		fprintf(to, ", %s of memory", units_size_text(scaled(ev.value, ev.scale), text));
	else if (ev.is_argument && strcmp(ev.unit, "bytes") == 0)
		fprintf(to, ", %s in all", units_size_text(scaled(ev.value, ev.scale), text));
	else if (ev.is_argument && strcmp(ev.unit, "nanoseconds") == 0)
		fprintf(to, ", %s in all", units_duration_text(scaled(ev.value, ev.scale), text));
	else if (ev.is_argument)
		fprintf(to, ", a sum of %" PRIu64, scaled(ev.value, ev.scale));
	else
		fprintf(to, ", representing %" PRIu64 " event%s", scaled(ev.value, ev.scale),
			units_s(scaled(ev.value, ev.scale)));
	double percent = cprof_coverage_percent(s->recorder, i);
	struct gap gap = {
		.stats = &st, .event = &ev, .percent = percent, .used_by_ticks = s->used_by_ticks,
		.has_unrecorded = has_unrecorded(s),
	};
	bool has_gap = gap_is_sure(&gap);
	if (has_gap)
		fprintf(to, ", covering %.1f %% of %s", percent,
			ev.is_clock ? "the CPU time used" : "the events counted");
	if (!ev.is_waiting && ev.time_enabled_ns &&
	    ev.time_running_ns < ev.time_enabled_ns / 100 * 99)
		fprintf(to, ", counting %.0f %% of the time%s",
			100.0 * (double)ev.time_running_ns / (double)ev.time_enabled_ns,
			ev.scale > 1 ? " and scaled" : "");
	if (s->file[i].path) {
		fputs(" -> ", to);
		printable_text(to, strcmp(s->file[i].path, "-") ? s->file[i].path
							      : "standard output");
		fprintf(to, " (%s)", units_size_text(s->file[i].n_bytes, text));
	}
	fputc('\n', to);
	if (has_gap)
		gap_explain(&gap, to);
	gap_print_unseen(&gap, to);
	print_particulars(s, to, i, &ev);
}

static void print_stacks(const struct summary *s, FILE *to, const struct cprof_stats *st)
{
	struct cprof_stack_ends ends;
	cprof_recorder_stack_ends(s->recorder, 0, &ends);
	if (!st->stack_bytes)
		return;
	fprintf(to, "  user stacks by CFI, copies of %u bytes", st->stack_bytes);
	if (st->stack_bytes_min < st->stack_bytes)
		fprintf(to, ", %u on some CPUs", st->stack_bytes_min);
	if (st->n_stack_cuts)
		fprintf(to, ", halved %u time%s because the ring was full", st->n_stack_cuts,
			units_s(st->n_stack_cuts));
	fprintf(to, ", %" PRIu64 " joined, %" PRIu64 " frame%s by code or frame pointer; ends: ",
		ends.n_joined, ends.n_guessed, units_s(ends.n_guessed));
	summaryparts_ends(&ends, to);
	for (size_t i = 1; cprof_recorder_stack_ends(s->recorder, i, &ends); i++)
		summaryparts_file_ends(&ends, to);
}

static void print_changes(const struct summary *s, FILE *to)
{
	struct cprof_scope_change c;
	char text[UNITS_TEXT_MAX];
	for (size_t i = 0; cprof_recorder_scope_change(s->recorder, i, &c); i++)
		fprintf(to, "  from %s on: scope %s instead of %s: %s\n",
			units_duration_text(c.time_ns, text), scope_name(c.to),
			scope_name(c.from), c.why);
}

void summary_print(const struct summary *s, FILE *to)
{
	struct cprof_stats st;
	struct cprof_losses losses;
	char text[UNITS_TEXT_MAX];
	cprof_recorder_stats(s->recorder, &st);
	collect_losses(s, &losses);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++)
		if (s->file[i].path)
			print_event(s, to, i);
	print_unnamed(s, to);
	print_cost(s, to, &st);
	if (st.n_own_samples)
		fprintf(to, "  samples of cprof itself (pid %d): %" PRIu64 "\n",
			(int)getpid(), st.n_own_samples);
	gosummary_print(&st, s->verbose, to);
	pysummary_print(&st, s->verbose, to);
	summaryparts_losses(&losses, SUMMARYPARTS_RECORD, s->verbose, to);
	if (s->command_signal)
		fprintf(to, "  '%s' was killed by signal %d (%s)\n", s->command_name,
			s->command_signal, strsignal(s->command_signal));
	else if (s->command_ended && s->command_status)
		fprintf(to, "  '%s' ended with status %d\n", s->command_name, s->command_status);
	if (s->realtime == REALTIME_DROPPED)
		fputs("  other real-time threads held the CPU: cprof has given up its real-time "
		      "priority (--realtime=no)\n", to);
	if (!s->verbose)
		return;
	if (s->realtime == REALTIME_YES)
		fputs("  the rings were read at real-time priority\n", to);
	fprintf(to, "  scope %s (%s), %u CPU%s, %u descriptor%s, rings of %" PRIu64 " KiB\n",
		scope_name(st.scope), st.scope_reason, st.n_cpus, units_s(st.n_cpus), st.n_fds,
		units_s(st.n_fds), st.ring_bytes / 1024);
	print_changes(s, to);
	fprintf(to, "  %s recorded", units_duration_text(st.duration_ns, text));
	if (st.cpu_used_known)
		fprintf(to, ", target used %s of CPU time",
			units_duration_text(st.cpu_used_ns, text));
	fprintf(to, "; %s for tables\n", units_size_text(st.peak_memory_bytes, text));
	print_stacks(s, to, &st);
	summaryparts_frames(&st, to);
}

/* ---- for programs ---------------------------------------------------------------------- */

static void print_changes_json(const struct summary *s, FILE *to)
{
	struct cprof_scope_change c;
	fputs(", \"scope_changes\": [", to);
	for (size_t i = 0; cprof_recorder_scope_change(s->recorder, i, &c); i++)
		fprintf(to, "%s{\"time_ns\": %" PRIu64 ", \"scope\": \"%s\", \"was\": \"%s\""
			", \"reason\": \"%s\"}", i ? ", " : "", c.time_ns, scope_name(c.to),
			scope_name(c.from), c.why);
	fputc(']', to);
}

static void print_cuts_json(const struct summary *s, FILE *to, size_t event)
{
	struct cprof_rate_cut cut;
	fputs(", \"rate_cuts\": [", to);
	for (size_t k = 0; cprof_recorder_rate_cut(s->recorder, event, k, &cut); k++)
		fprintf(to, "%s{\"time_ns\": %" PRIu64 ", \"%s\": %" PRIu64 ", \"was\": %" PRIu64
			", \"reason\": \"%s\"}", k ? ", " : "", cut.time_ns,
			cut.is_freq ? "freq_hz" : "period", cut.to, cut.from, cut.why);
	fputc(']', to);
}

static void print_event_json(const struct summary *s, FILE *to, size_t i)
{
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(s->recorder, i, &ev);
	fputs("{", to);
	summaryparts_json_string(to, "event", ev.name);
	fputs(", ", to);
	summaryparts_json_string(to, "sample_type", ev.sample_type);
	fputs(", ", to);
	summaryparts_json_string(to, "unit", ev.unit);
	fputs(", ", to);
	summaryparts_json_string(to, "file", s->file[i].path);
	fprintf(to, ", \"file_bytes\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"value\": %" PRIu64,
		s->file[i].n_bytes, ev.n_samples, ev.value);
	if (ev.is_waiting)
		fprintf(to, ", \"no_stack_ns\": %" PRIu64 ", \"torn_ns\": %" PRIu64
			", \"unsampled\": %" PRIu64, ev.no_stack_ns, ev.torn_ns, ev.n_unsampled);
	fprintf(to, ", \"freq_hz\": %" PRIu64 ", \"period\": %" PRIu64, ev.freq_hz, ev.period);
	fprintf(to, ", \"counted\": %" PRIu64 ", \"counted_target_only\": %s", ev.counted,
		ev.counted_target ? "true" : "false");
	fprintf(to, ", \"time_enabled_ns\": %" PRIu64 ", \"time_running_ns\": %" PRIu64,
		ev.time_enabled_ns, ev.time_running_ns);
	fprintf(to, ", \"scale\": %.6f", ev.scale);
	fprintf(to, ", \"lost\": %" PRIu64 ", \"lost_records\": %" PRIu64
		", \"lost_by_pmu\": %" PRIu64, ev.n_lost_target, ev.n_lost_records,
		ev.n_lost_by_pmu);
	if (ev.n_lost_all)
		fprintf(to, ", \"lost_max\": %" PRIu64 ", \"lost_all\": %" PRIu64, ev.n_lost_max,
			ev.n_lost_all);
	else
		fprintf(to, ", \"lost_max\": %" PRIu64 ", \"lost_all\": %" PRIu64,
			ev.n_lost_target, ev.n_lost_target);
	fprintf(to, ", \"other_tasks_samples\": %" PRIu64, ev.n_foreign);
	if (ev.lost_counted_known)
		fprintf(to, ", \"lost_counted\": %" PRIu64, ev.n_lost_counted);
	else
		fputs(", \"lost_counted\": null", to);
	fprintf(to, ", \"throttled\": %" PRIu64 ", \"throttled_ns\": %" PRIu64, ev.n_throttles,
		ev.throttled_ns);
	print_cuts_json(s, to, i);
	fprintf(to, ", \"sample_cost_ns\": %" PRIu64 ", \"precise\": %u, \"precise_asked\": %u, ",
		ev.sample_cost_ns, ev.precise, ev.precise_asked);
	summaryparts_json_string(to, "problem", s->file[i].problem[0] ? s->file[i].problem : NULL);
	struct cprof_unnamed u;
	cprof_recorder_unnamed(s->recorder, i, &u);
	fprintf(to, ", \"unnamed_percent\": %.3f, ", u.percent);
	summaryparts_json_string(to, "unnamed", u.what);
	double percent = cprof_coverage_percent(s->recorder, i);
	if (percent >= 0)
		fprintf(to, ", \"coverage_percent\": %.3f", percent);
	else
		fputs(", \"coverage_percent\": null", to);
	fprintf(to, ", \"user_only\": %s}", ev.given_up_kernel ? "true" : "false");
}

void summary_print_json(const struct summary *s, FILE *to)
{
	struct cprof_stats st;
	struct cprof_losses losses;
	cprof_recorder_stats(s->recorder, &st);
	collect_losses(s, &losses);
	fprintf(to, "{\"version\": \"%s\", \"scope\": \"%s\", ", CPROF_VERSION,
		scope_name(st.scope));
	summaryparts_json_string(to, "scope_reason", st.scope_reason);
	print_changes_json(s, to);
	fprintf(to, ", \"kernel_filter\": %s", st.kernel_filter ? "true" : "false");
	fprintf(to, ", \"start_time_ns\": %" PRId64 ", \"end_time_ns\": %" PRId64
		", \"duration_ns\": %" PRIu64, st.start_realtime_ns, st.end_realtime_ns,
		st.duration_ns);
	if (st.cpu_used_known)
		fprintf(to, ", \"cpu_used_ns\": %" PRIu64, st.cpu_used_ns);
	else
		fputs(", \"cpu_used_ns\": null", to);
	if (s->command_ended)
		fprintf(to, ", \"command_status\": %d", s->command_status);
	fprintf(to, ", \"user_only\": %s", st.user_only ? "true" : "false");
	fprintf(to, ", \"stacks\": %" PRIu64 ", \"frames\": %" PRIu64, st.n_stacks, st.n_frames);
	fprintf(to, ", \"user_frames\": %" PRIu64 ", \"user_frames_named\": %" PRIu64,
		st.n_frames_user, st.n_frames_user_named);
	fprintf(to, ", \"kernel_frames\": %" PRIu64 ", \"kernel_frames_named\": %" PRIu64,
		st.n_frames_kernel, st.n_frames_kernel_named);
	fprintf(to, ", \"other_tasks_samples\": %" PRIu64 ", \"own_samples\": %" PRIu64,
		st.n_foreign, st.n_own_samples);
	fprintf(to, ", \"descriptors\": %u, \"cpus\": %u, \"ring_bytes\": %" PRIu64, st.n_fds,
		st.n_cpus, st.ring_bytes);
	fprintf(to, ", \"switch_period_max\": %" PRIu64, st.switch_period_max);
	fprintf(to, ", \"readers\": %u, \"readers_max\": %u", st.n_readers, st.n_readers_max);
	fprintf(to, ", \"realtime\": \"%s\"", realtime_state_name(s->realtime));
	fprintf(to, ", \"own_cpu_s\": %.6f, \"peak_table_bytes\": %" PRIu64, s->own_cpu_s,
		st.peak_memory_bytes);
	if (st.cost_known)
		fprintf(to, ", \"target_cost_s\": %.6f", (double)st.cost_ns / 1e9);
	else
		fputs(", \"target_cost_s\": null", to);
	gosummary_print_json(&st, to);
	pysummary_print_json(&st, to);
	struct cprof_stack_ends ends;
	cprof_recorder_stack_ends(s->recorder, 0, &ends);
	fprintf(to, ", \"stack_bytes\": %u, \"stack_bytes_min\": %u, \"stack_cuts\": %u",
		st.stack_bytes, st.stack_bytes_min, st.n_stack_cuts);
	fprintf(to, ", \"stacks_joined\": %" PRIu64 ", \"frames_guessed\": %" PRIu64
		", \"stack_ends\": {", ends.n_joined, ends.n_guessed);
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
		fprintf(to, "%s\"%s\": %" PRIu64, k ? ", " : "", cprof_stack_end_name(k),
			ends.n[k]);
	fputs("}, \"stack_ends_by_file\": [", to);
	for (size_t i = 1; cprof_recorder_stack_ends(s->recorder, i, &ends); i++) {
		fputs(i > 1 ? ", {" : "{", to);
		summaryparts_json_string(to, "file", ends.path);
		for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
			if (ends.n[k])
				fprintf(to, ", \"%s\": %" PRIu64, cprof_stack_end_name(k),
					ends.n[k]);
		fputs("}", to);
	}
	fputs("]", to);
	fputs(", \"losses\": {", to);
	summaryparts_losses_json(&losses, SUMMARYPARTS_RECORD, to);
	fputs("}, \"events\": [", to);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++) {
		fputs(i ? ", " : "", to);
		print_event_json(s, to, i);
	}
	fputs("]}\n", to);
}
