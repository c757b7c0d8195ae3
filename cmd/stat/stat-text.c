/*
 * Text: a line for each event with the count, the name, a derived figure, the spread over the runs,
 * and for how much of the time the event ran if it took turns with others.
 */
#include "cmd/stat/stat-output.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/stat/stat-lines.h"
#include "cmd/stat/stat-opts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "1,234,567.89", with n_decimals. */
static const char *grouped(double v, int n_decimals, char buf[64])
{
	char plain[64];
	snprintf(plain, sizeof(plain), "%.*f", n_decimals, v);
	size_t n_whole = strcspn(plain, "."), n = 0;
	for (size_t i = 0; plain[i] && n < 62; i++) {
		if (i && i < n_whole && (n_whole - i) % 3 == 0 && plain[i - 1] != '-')
			buf[n++] = ',';
		buf[n++] = plain[i];
	}
	buf[n] = '\0';
	return buf;
}

static void print_value(FILE *to, const struct cprof_counter_event *ev, double v)
{
	char text[64];
	if (ev->is_clock)
		fprintf(to, "%18s ms      ", grouped(v / 1e6, 2, text));
	else if (ev->scale)
		fprintf(to, "%18s %-8.8s", grouped(v * ev->scale, 2, text), ev->unit);
	else
		fprintf(to, "%18s         ", grouped(v, 0, text));
}

/* Three digits and K, M or G; small ones as they are. */
static void print_rate(FILE *to, const struct stat_figure *f)
{
	static const char *const prefix[] = { "", " K", " M", " G", " T" };
	size_t i = 0;
	double v = f->value;
	for (; v >= 999.5 && i + 1 < sizeof(prefix) / sizeof(*prefix); i++)
		v /= 1000;
	fprintf(to, "%.3g%s %s", v, prefix[i], f->words);
}

/* In a buffer, so that the columns after it are aligned. */
static void print_figure(FILE *to, const struct stat_lines *l, size_t i)
{
	CLEANUP_FREE char *text = NULL;
	size_t n;
	struct stat_figure f;
	FILE *mem = open_memstream(&text, &n);
	if (!mem)
		return;
	if (l->value[i] != 0 && stat_figure_of(&l->in, i, &f)) {
		if (f.is_percent)
			fprintf(mem, "%.2f %% %s", f.value, f.words);
		else if (strncmp(f.key, "per_", 4) == 0)
			print_rate(mem, &f);
		else
			fprintf(mem, "%.2f %s", f.value, f.words);
	}
	fclose(mem);
	fprintf(to, "%-30s", text);
}

static void print_error(FILE *to, const struct stat_spread *v)
{
	if (v->mean != 0)
		fprintf(to, "  +- %.2f %%", 100 * v->error / fabs(v->mean));
}

static void print_name(FILE *to, const struct cprof_counter_event *ev, bool is_last)
{
	int width = ev->given_up_kernel ? 22 : 24;
	printable_text(to, ev->name);
	if (ev->given_up_kernel)
		fputs(strchr(ev->name, ':') ? "u " : ":u", to);
	int n = width - (int)strlen(ev->name);
	if (!is_last)
		fprintf(to, "%*s  ", n > 0 ? n : 0, "");
}

static void print_event(FILE *to, const struct stat_series *s, const struct stat_lines *l, size_t i,
			const struct stat_opts *o)
{
	const struct cprof_counter_event *ev = &s->event[i];
	const struct stat_sum *sum = &l->sum[i];
	const char *why = stat_lines_why_not(l, i, o);
	if (why) {
		fprintf(to, "%18s         ", stat_lines_state(l, i));
		print_name(to, ev, false);
		fprintf(to, "%s\n", why);
		return;
	}
	print_value(to, ev, sum->value.mean);
	print_name(to, ev, false);
	print_figure(to, l, i);
	if (s->runs.n > 1)
		print_error(to, &sum->value);
	if (sum->running < 0.9995)
		fprintf(to, "  (scaled: counted %.1f %% of the time)", 100 * sum->running);
	fputc('\n', to);
}

/* Of threads, the events that cannot be counted for any of them have their lines at the end. */
enum which_events { ALL_EVENTS, OPENED_EVENTS, OTHER_EVENTS };

static void print_row(FILE *to, const struct stat_series *s, size_t row, enum which_events which,
		      const struct stat_opts *o)
{
	struct stat_lines l = { NULL };
	bool ok = stat_lines_make(&l, s, row, o);
	for (size_t i = 0; i < s->n_events && ok; i++)
		if (which == ALL_EVENTS || (which == OPENED_EVENTS) == !s->event[i].why_not)
			print_event(to, s, &l, i, o);
	stat_lines_done(&l);
}

static bool has_unopened(const struct stat_series *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (s->event[i].why_not)
			return true;
	return false;
}

static void print_words(FILE *to, char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		fputs(i ? " " : "", to);
		printable_text(to, words[i]);
	}
}

static void print_head(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	fputc('\n', to);
	if (taskopts_is_command(&o->tasks)) {
		fputs("Counts of '", to);
		print_words(to, o->tasks.command);
		fputc('\'', to);
	} else if (o->config.cpus) {
		fputs("Counts of CPUs ", to);
		printable_text(to, o->config.cpus);
	} else if (o->config.all_processes) {
		fputs(o->config.per_thread ? "Counts of all threads" : "Counts of all CPUs", to);
	} else {
		size_t n = o->config.n_pids + o->config.n_tids;
		fputs(o->config.n_pids ? "Counts of process" : "Counts of thread", to);
		for (size_t i = 0; i < n; i++)
			fprintf(to, "%s%s%d", i == 0 && n > 1 ? o->config.n_pids ? "es" : "s" : "",
				i ? ", " : " ", (int)(i < o->config.n_pids ? o->config.pid[i]
						      : o->config.tid[i - o->config.n_pids]));
	}
	if (s->runs.n > 1)
		fprintf(to, ", means of %zu runs", s->runs.n);
	fputs(":\n\n", to);
}

static void print_seconds(FILE *to, const struct stat_series *s, const struct stat_spread *v,
			  const char *what)
{
	char text[64];
	fprintf(to, "%18s s       %-24s", grouped(v->mean / 1e9, 6, text), what);
	if (s->runs.n > 1)
		fprintf(to, "  %-30s", "");
	if (s->runs.n > 1)
		print_error(to, v);
	fputc('\n', to);
}

static void print_times(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	struct stat_spread elapsed = stat_series_spread(s, stat_run_elapsed_ns);
	struct stat_spread busy = stat_series_spread(s, stat_run_busy_ns);
	struct stat_spread user = stat_series_spread(s, stat_run_user_ns);
	struct stat_spread system = stat_series_spread(s, stat_run_system_ns);
	fputc('\n', to);
	print_seconds(to, s, &elapsed, "elapsed");
	if (taskopts_is_command(&o->tasks)) {
		print_seconds(to, s, &user, "user");
		print_seconds(to, s, &system, "system");
	}
	if (s->n_cpus && elapsed.mean > 0)
		fprintf(to, "%18.2f         of %zu CPU%s busy\n", busy.mean / elapsed.mean,
			s->n_cpus, units_s(s->n_cpus));
	double lack = stat_series_uncounted(s);
	if (lack > 0)
		fprintf(to, "\n%.0f %% of the CPU time is not in the counts: the kernel removes "
			"the events of a user when\na program with more rights is executed, such "
			"as a set-user-ID one, and leaves out the\nlast microseconds of each "
			"thread.\n", 100 * lack);
	fputc('\n', to);
}

/* Threads in the order of their first count, the largest first. */
struct thread_order { size_t row; double value; };

static int compare_threads(const void *a, const void *b)
{
	const struct thread_order *x = a, *y = b;
	return x->value != y->value ? (x->value < y->value) - (x->value > y->value)
				    : (x->row > y->row) - (x->row < y->row);
}

static void print_threads(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	CLEANUP_FREE struct thread_order *order = calloc(s->n_rows + 1, sizeof(*order));
	size_t n = 0, n_idle = 0;
	for (size_t row = 0; row < s->n_rows && order; row++) {
		bool any = false;
		for (size_t i = 0; i < s->n_events; i++) {
			struct stat_sum sum;
			stat_series_sum(s, row, i, &sum);
			if (i == 0)
				order[n] = (struct thread_order){ row, sum.value.mean };
			any |= sum.was_enabled;
		}
		n += any;
		n_idle += !any;
	}
	if (order)
		qsort(order, n, sizeof(*order), compare_threads);
	for (size_t i = 0; i < n; i++) {
		const struct cprof_counter_row *row = &s->row[order[i].row];
		fprintf(to, "%sthread %d of process %d, ", i ? "\n" : "", (int)row->tid,
			(int)row->pid);
		printable_text(to, row->name);
		fputs(":\n", to);
		print_row(to, s, order[i].row, OPENED_EVENTS, o);
	}
	if (n && has_unopened(s)) {
		fputs("\nall threads:\n", to);
		print_row(to, s, order[0].row, OTHER_EVENTS, o);
	}
	if (n_idle)
		fprintf(to, "%s%zu thread%s did not run\n", n ? "\n" : "", n_idle,
			units_s(n_idle));
}

static void print_all(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	print_head(to, s, o);
	if (o->config.per_thread)
		print_threads(to, s, o);
	else
		print_row(to, s, 0, ALL_EVENTS, o);
	print_times(to, s, o);
}

/* Columns that are empty at the end of a line leave no blanks. */
void stat_output_text(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	CLEANUP_FREE char *text = NULL;
	size_t n_bytes;
	FILE *mem = open_memstream(&text, &n_bytes);
	if (!mem)
		return;
	print_all(mem, s, o);
	if (fclose(mem) != 0)
		return;
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n"), n_shown = n;
		while (n_shown && line[n_shown - 1] == ' ')
			n_shown--;
		fprintf(to, "%.*s\n", (int)n_shown, line);
		line += n + (line[n] == '\n');
	}
}
