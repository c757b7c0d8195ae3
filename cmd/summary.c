#include "cmd/summary.h"

#include "base/units.h"
#include "cmd/text.h"
#include "cprof.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A gap is told from here on, unless it is within three standard errors of the count of samples. */
#define GAP_TOLD_PERCENT 2.0

static bool is_gap(double percent, uint64_t n_samples)
{
	double gap = fabs(percent - 100);
	double n_expected = percent > 0 ? (double)n_samples * 100 / percent : 0;
	return percent >= 0 && gap > GAP_TOLD_PERCENT && gap > 300 / sqrt(n_expected + 1);
}

struct loss {
	uint64_t n;
	const char *key;   /* in JSON */
	const char *what;
	bool forbidden;    /* by --strict */
};

#define N_LOSSES 13

static void list_losses(const struct cprof_stats *st, uint64_t n_lost, uint64_t n_throttles,
			struct loss out[N_LOSSES])
{
	const struct loss all[N_LOSSES] = {
		{ n_lost, "lost", "samples lost: the ring was full (--ring-size, lower -F)", true },
		{ n_throttles, "throttled",
		  "times throttled by the kernel: the rate is too high for this machine", true },
		{ st->n_truncated, "truncated",
		  "stacks truncated: deeper than the stack copy (--call-graph dwarf,SIZE), or than "
		  "kernel.perf_event_max_stack",
		  true },
		{ st->n_cut, "cut", "stacks ended before their root (-v tells where)", false },
		{ st->n_not_unwound, "not_unwound", "samples of 32-bit code, which is not unwound",
		  true },
		{ st->n_unknown_pc, "unknown_pc", "samples at an address outside of all mappings",
		  false },
		{ st->n_shortened, "shortened",
		  "stacks without their innermost frames: --max-memory", true },
		{ st->n_dropped, "dropped", "samples without their stack: --max-memory", true },
		{ st->n_labels_dropped, "labels_dropped",
		  "samples without some label: --max-memory", true },
		{ st->n_undecodable, "undecodable", "records that could not be decoded", true },
		{ st->n_out_of_order, "out_of_order",
		  "records came after younger ones: an interrupt between time stamp and ring",
		  false },
		{ st->n_cpus_failed, "cpus_failed", "CPUs that could not be recorded", true },
		{ st->n_unknown_records, "unknown_records", "records of an unknown type", false },
	};
	memcpy(out, all, sizeof(all));
}

static void sum_losses(const struct summary *s, struct loss out[N_LOSSES])
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	uint64_t n_lost = 0, n_throttles = 0;
	cprof_recorder_stats(s->recorder, &st);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++) {
		cprof_recorder_event_stats(s->recorder, i, &ev);
		n_lost += ev.n_lost;
		n_throttles += ev.n_throttles;
	}
	list_losses(&st, n_lost, n_throttles, out);
}

bool summary_has_losses(const struct summary *s)
{
	struct loss loss[N_LOSSES];
	sum_losses(s, loss);
	for (size_t i = 0; i < N_LOSSES; i++)
		if (loss[i].forbidden && loss[i].n)
			return true;
	return false;
}

/* ---- for people -------------------------------------------------------------------- */

static const char *scope_name(enum cprof_scope scope)
{
	return scope == CPROF_SCOPE_TASK ? "task" : scope == CPROF_SCOPE_CPU ? "cpu" : "cgroup";
}

static void print_event(const struct summary *s, FILE *to, size_t i)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	char text[UNITS_TEXT_MAX];
	cprof_recorder_stats(s->recorder, &st);
	cprof_recorder_event_stats(s->recorder, i, &ev);
	fprintf(to, "cprof record: %" PRIu64 " sample%s of %s", ev.n_samples,
		ev.n_samples == 1 ? "" : "s", ev.name);
	if (ev.is_clock)
		fprintf(to, ", %s of CPU time", units_duration_text(ev.value, text));
	else
		fprintf(to, ", standing for %" PRIu64 " events", ev.value);
	double percent = cprof_coverage_percent(s->recorder, i);
	if (is_gap(percent, ev.n_samples))
		fprintf(to, ", %.1f %% of what was %s", percent, ev.is_clock ? "used" : "counted");
	if (ev.time_enabled_ns && ev.time_running_ns < ev.time_enabled_ns / 100 * 99)
		fprintf(to, ", counting %.0f %% of the time",
			100.0 * (double)ev.time_running_ns / (double)ev.time_enabled_ns);
	if (s->file[i].path)
		fprintf(to, " -> %s (%s)", s->file[i].path,
			units_size_text(s->file[i].n_bytes, text));
	fputc('\n', to);
	if (is_gap(percent, ev.n_samples) && percent < 100 && st.scope == CPROF_SCOPE_TASK)
		fprintf(to, "  threads that live shorter than a sampling period go unseen with "
			    "--scope task; --scope cpu sees them (CAP_PERFMON or root)\n");
}

static void print_ends(const struct cprof_stack_ends *ends, FILE *to)
{
	const char *sep = "";
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++) {
		if (ends->n[k]) {
			fprintf(to, "%s%" PRIu64 " %s", sep, ends->n[k], cprof_stack_end_name(k));
			sep = ", ";
		}
	}
	fputc('\n', to);
}

static void print_stacks(const struct summary *s, FILE *to, uint32_t stack_bytes)
{
	struct cprof_stack_ends ends;
	cprof_recorder_stack_ends(s->recorder, 0, &ends);
	if (!stack_bytes)
		return;
	fprintf(to, "  user stacks by CFI, copies of %u bytes, %" PRIu64 " joined, %" PRIu64
		" frames by frame pointer; ends: ", stack_bytes, ends.n_joined, ends.n_guessed);
	print_ends(&ends, to);
	for (size_t i = 1; cprof_recorder_stack_ends(s->recorder, i, &ends); i++) {
		fputs("    in '", to);
		text_print(to, ends.path);
		fputs("': ", to);
		print_ends(&ends, to);
	}
}

void summary_print(const struct summary *s, FILE *to)
{
	struct cprof_stats st;
	struct loss loss[N_LOSSES];
	char text[UNITS_TEXT_MAX];
	cprof_recorder_stats(s->recorder, &st);
	sum_losses(s, loss);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++)
		print_event(s, to, i);
	for (size_t i = 0; i < N_LOSSES; i++)
		if (loss[i].n && (loss[i].forbidden || s->verbose))
			fprintf(to, "  %" PRIu64 " %s\n", loss[i].n, loss[i].what);
	if (s->command_ended && s->command_status)
		fprintf(to, "  '%s' ended with status %d\n", s->command_name, s->command_status);
	if (!s->verbose)
		return;
	fprintf(to, "  scope %s, %u CPUs, %u descriptors, rings of %" PRIu64 " KiB\n",
		scope_name(st.scope), st.n_cpus, st.n_fds, st.ring_bytes / 1024);
	fprintf(to, "  %s recorded", units_duration_text(st.duration_ns, text));
	if (st.cpu_used_known)
		fprintf(to, ", target used %s of CPU time",
			units_duration_text(st.cpu_used_ns, text));
	fprintf(to, "; cprof itself %.3f s of CPU time, %s for tables\n", s->own_cpu_s,
		units_size_text(st.peak_memory_bytes, text));
	print_stacks(s, to, st.stack_bytes);
	fprintf(to, "  %" PRIu64 " distinct stacks, %" PRIu64 " frames; %" PRIu64 " of %" PRIu64
		    " user and %" PRIu64 " of %" PRIu64 " kernel frames named\n",
		st.n_stacks, st.n_frames, st.n_frames_user_named, st.n_frames_user,
		st.n_frames_kernel_named, st.n_frames_kernel);
}

/* ---- for programs ---------------------------------------------------------------------- */

static void json_string(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\"%s\": ", key);
	if (value)
		text_print_json(to, value);
	else
		fputs("null", to);
}

static void print_event_json(const struct summary *s, FILE *to, size_t i)
{
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(s->recorder, i, &ev);
	fputs("{", to);
	json_string(to, "event", ev.name);
	fputs(", ", to);
	json_string(to, "sample_type", ev.sample_type);
	fputs(", ", to);
	json_string(to, "unit", ev.unit);
	fputs(", ", to);
	json_string(to, "file", s->file[i].path);
	fprintf(to, ", \"file_bytes\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"value\": %" PRIu64,
		s->file[i].n_bytes, ev.n_samples, ev.value);
	fprintf(to, ", \"freq_hz\": %" PRIu64 ", \"period\": %" PRIu64, ev.freq_hz, ev.period);
	fprintf(to, ", \"counted\": %" PRIu64 ", \"counted_target_only\": %s", ev.counted,
		ev.counted_target ? "true" : "false");
	fprintf(to, ", \"time_enabled_ns\": %" PRIu64 ", \"time_running_ns\": %" PRIu64,
		ev.time_enabled_ns, ev.time_running_ns);
	fprintf(to, ", \"lost\": %" PRIu64 ", \"throttled\": %" PRIu64, ev.n_lost, ev.n_throttles);
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
	struct loss loss[N_LOSSES];
	cprof_recorder_stats(s->recorder, &st);
	sum_losses(s, loss);
	fprintf(to, "{\"version\": \"%s\", \"scope\": \"%s\"", CPROF_VERSION, scope_name(st.scope));
	fprintf(to, ", \"start_time_ns\": %" PRId64 ", \"duration_ns\": %" PRIu64,
		st.start_realtime_ns, st.duration_ns);
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
	fprintf(to, ", \"other_tasks_samples\": %" PRIu64, st.n_foreign);
	fprintf(to, ", \"descriptors\": %u, \"cpus\": %u, \"ring_bytes\": %" PRIu64, st.n_fds,
		st.n_cpus, st.ring_bytes);
	fprintf(to, ", \"own_cpu_s\": %.6f, \"peak_table_bytes\": %" PRIu64, s->own_cpu_s,
		st.peak_memory_bytes);
	struct cprof_stack_ends ends;
	cprof_recorder_stack_ends(s->recorder, 0, &ends);
	fprintf(to, ", \"stack_bytes\": %u, \"stacks_joined\": %" PRIu64
		", \"frames_guessed\": %" PRIu64 ", \"stack_ends\": {",
		st.stack_bytes, ends.n_joined, ends.n_guessed);
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
		fprintf(to, "%s\"%s\": %" PRIu64, k ? ", " : "", cprof_stack_end_name(k),
			ends.n[k]);
	fputs("}", to);
	fputs(", \"losses\": {", to);
	for (size_t i = 0; i < N_LOSSES; i++)
		fprintf(to, "%s\"%s\": %" PRIu64, i ? ", " : "", loss[i].key, loss[i].n);
	fputs("}, \"events\": [", to);
	for (size_t i = 0; i < cprof_recorder_n_events(s->recorder); i++) {
		fputs(i ? ", " : "", to);
		print_event_json(s, to, i);
	}
	fputs("]}\n", to);
}
