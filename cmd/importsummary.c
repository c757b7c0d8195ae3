#include "cmd/importsummary.h"

#include "base/units.h"
#include "cmd/summaryparts.h"
#include "cmd/printable.h"
#include "cprof-import.h"
#include "cprof-losses.h"

#include <inttypes.h>

/* ---- for people -------------------------------------------------------------------- */

static void print_event(const struct importsummary *s, FILE *to, size_t i)
{
	struct cprof_event_stats ev;
	char text[UNITS_TEXT_MAX];
	cprof_importer_event_stats(s->importer, i, &ev);
	if (!s->file[i].wanted && !s->verbose)
		return;
	fprintf(to, "cprof import: %" PRIu64 " sample%s of ", ev.n_samples,
		units_s(ev.n_samples));
	printable_text(to, ev.name);
	if (ev.is_waiting)
		fprintf(to, ", %s of thread time", units_duration_text(ev.value, text));
	else if (ev.is_clock)
		fprintf(to, ", %s of CPU time", units_duration_text(ev.value, text));
	else
		fprintf(to, ", representing %" PRIu64 " event%s", ev.value, units_s(ev.value));
	if (s->file[i].path) {
		fputs(" -> ", to);
		printable_text(to, s->file[i].path);
		fprintf(to, " (%s)", units_size_text(s->file[i].n_bytes, text));
	}
	fputc('\n', to);
	if (ev.no_stack_ns)
		fprintf(to, "  %s of it is in waits without a stack: begun before the recording, "
			"or not sampled\n",
			units_duration_text(ev.no_stack_ns, text));
	if (ev.torn_ns)
		fprintf(to, "  %s of it is in waits whose end is not in the file: they are counted "
			"up to the next record of their thread\n",
			units_duration_text(ev.torn_ns, text));
}

static void print_stacks(const struct importsummary *s, FILE *to, uint32_t stack_bytes)
{
	struct cprof_stack_ends ends;
	if (!stack_bytes)
		return;
	cprof_importer_stack_ends(s->importer, 0, &ends);
	fprintf(to, "  user stacks by CFI, copies of %u bytes; ends: ", stack_bytes);
	summaryparts_ends(&ends, to);
	for (size_t i = 1; cprof_importer_stack_ends(s->importer, i, &ends); i++)
		summaryparts_file_ends(&ends, to);
}

static void print_origin(const struct cprof_import_stats *im, FILE *to)
{
	fputs("  recorded by perf ", to);
	printable_text(to, *im->perf_version ? im->perf_version : "(version unknown)");
	fputs(" on ", to);
	printable_text(to, *im->hostname ? im->hostname : "(host unknown)");
	fputs(", ", to);
	printable_text(to, *im->machine ? im->machine : "(architecture unknown)");
	fputs(", Linux ", to);
	printable_text(to, *im->kernel_release ? im->kernel_release : "(release unknown)");
	fprintf(to, "%s%s%s\n", im->is_pipe ? ", as a stream" : "",
		im->is_swapped ? ", in the other byte order" : "",
		im->is_running_kernel ? ", under this kernel" : "");
}

/* What has no names, and why. */
static void print_unnamed(const struct cprof_stats *st, const struct cprof_import_stats *im,
			  FILE *to)
{
	uint64_t n_user = st->n_frames_user - st->n_frames_user_named;
	uint64_t n_kernel = st->n_frames_kernel - st->n_frames_kernel_named;
	if (n_user && im->n_absent) {
		fprintf(to, "  %" PRIu64 " of %" PRIu64 " user frames %s no names; missing files: ",
			n_user, st->n_frames_user, units_word(n_user, "has", "have"));
		for (size_t i = 0; i < im->n_absent; i++) {
			fputs(i ? ", '" : "'", to);
			printable_text(to, im->absent[i]);
			fputc('\'', to);
		}
		if (im->n_files_missing + im->n_files_wrong > im->n_absent)
			fputs(" ...", to);
		fputs("\n    --symfs DIR says where they are, --debug-dir DIR finds them by build "
		      "id\n", to);
	}
	if (n_kernel && im->why_not_kernel)
		fprintf(to, "  %" PRIu64 " of %" PRIu64 " kernel frames %s no names, because "
			"another kernel was recorded: %s\n    --kernel-debug=vmlinux names them\n",
			n_kernel, st->n_frames_kernel, units_word(n_kernel, "has", "have"),
			im->why_not_kernel);
}

void importsummary_print_quiet(const struct importsummary *s, FILE *to)
{
	struct cprof_losses losses;
	cprof_importer_losses(s->importer, &losses);
	summaryparts_losses_quiet(&losses, SUMMARYPARTS_IMPORT, false, to);
}

void importsummary_print(const struct importsummary *s, FILE *to)
{
	struct cprof_stats st;
	struct cprof_import_stats im;
	struct cprof_losses losses;
	char text[UNITS_TEXT_MAX];
	cprof_importer_losses(s->importer, &losses);
	cprof_importer_stats(s->importer, &st);
	cprof_importer_import_stats(s->importer, &im);
	for (size_t i = 0; i < cprof_importer_n_events(s->importer); i++)
		print_event(s, to, i);
	summaryparts_losses(&losses, SUMMARYPARTS_IMPORT, s->verbose, to);
	if (!s->no_symbols)
		print_unnamed(&st, &im, to);
	if (!s->verbose)
		return;
	print_origin(&im, to);
	fprintf(to, "  %" PRIu64 " record%s in %s; %s for tables\n", im.n_records,
		units_s(im.n_records), units_duration_text(st.duration_ns, text),
		units_size_text(st.peak_memory_bytes, (char[UNITS_TEXT_MAX]){ 0 }));
	fprintf(to, "  files: %" PRIu64 " used, %" PRIu64 " of them by build id; %" PRIu64
		" not found, %" PRIu64 " of another version\n",
		im.n_files, im.n_files_proven, im.n_files_missing, im.n_files_wrong);
	print_stacks(s, to, st.stack_bytes);
	summaryparts_frames(&st, to);
}

/* ---- for programs ---------------------------------------------------------------------- */

/* Prints the member and a comma. */
static void json_string(FILE *to, const char *key, const char *value)
{
	summaryparts_json_string(to, key, value);
	fputs(", ", to);
}

static void print_event_json(const struct importsummary *s, FILE *to, size_t i)
{
	struct cprof_event_stats ev;
	cprof_importer_event_stats(s->importer, i, &ev);
	fputs(i ? ", {" : "{", to);
	json_string(to, "event", ev.name);
	json_string(to, "sample_type", ev.sample_type);
	json_string(to, "unit", ev.unit);
	json_string(to, "file", s->file[i].path);
	fprintf(to, "\"file_bytes\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"value\": %" PRIu64
		    ", \"freq_hz\": %" PRIu64 ", \"period\": %" PRIu64 ", \"lost\": %" PRIu64
		    ", \"throttled\": %" PRIu64 "}",
		s->file[i].n_bytes, ev.n_samples, ev.value, ev.freq_hz, ev.period, ev.n_lost,
		ev.n_throttles);
}

void importsummary_print_json(const struct importsummary *s, FILE *to)
{
	struct cprof_stats st;
	struct cprof_import_stats im;
	struct cprof_losses losses;
	cprof_importer_losses(s->importer, &losses);
	cprof_importer_stats(s->importer, &st);
	cprof_importer_import_stats(s->importer, &im);
	fputs("{", to);
	json_string(to, "version", CPROF_VERSION);
	json_string(to, "perf_version", im.perf_version);
	json_string(to, "hostname", im.hostname);
	json_string(to, "machine", im.machine);
	json_string(to, "kernel_release", im.kernel_release);
	json_string(to, "damage", s->damage);
	fprintf(to, "\"stream\": %s, \"other_byte_order\": %s, \"running_kernel\": %s",
		im.is_pipe ? "true" : "false", im.is_swapped ? "true" : "false",
		im.is_running_kernel ? "true" : "false");
	fprintf(to, ", \"start_time_ns\": %" PRId64 ", \"duration_ns\": %" PRIu64
		    ", \"records\": %" PRIu64,
		st.start_realtime_ns, st.duration_ns, im.n_records);
	fprintf(to, ", \"stacks\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"user_frames\": %" PRIu64
		    ", \"user_frames_named\": %" PRIu64 ", \"kernel_frames\": %" PRIu64
		    ", \"kernel_frames_named\": %" PRIu64,
		st.n_stacks, st.n_frames, st.n_frames_user, st.n_frames_user_named,
		st.n_frames_kernel, st.n_frames_kernel_named);
	fprintf(to, ", \"files\": %" PRIu64 ", \"files_proven\": %" PRIu64
		    ", \"files_missing\": %" PRIu64 ", \"files_wrong\": %" PRIu64
		    ", \"peak_table_bytes\": %" PRIu64,
		im.n_files, im.n_files_proven, im.n_files_missing, im.n_files_wrong,
		st.peak_memory_bytes);
	struct cprof_stack_ends ends;
	cprof_importer_stack_ends(s->importer, 0, &ends);
	fprintf(to, ", \"stack_bytes\": %u, \"stack_ends\": {", st.stack_bytes);
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++)
		fprintf(to, "%s\"%s\": %" PRIu64, k ? ", " : "", cprof_stack_end_name(k),
			ends.n[k]);
	fputs("}, \"notes\": {", to);
	summaryparts_losses_json(&losses, SUMMARYPARTS_IMPORT, to);
	fputs("}, \"events\": [", to);
	for (size_t i = 0; i < cprof_importer_n_events(s->importer); i++)
		print_event_json(s, to, i);
	fputs("]}\n", to);
}
