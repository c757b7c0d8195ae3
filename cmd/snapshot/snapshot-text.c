/*
 * One block per thread, as jstack prints it:
 *
 *     "worker" tid 42, sleeping for about 4.2 s in epoll_wait, on fd 7 anon_inode:[eventpoll]
 *         at epoll_wait (libc.so.6)
 *         at serve (server.c:120)
 */

#include "cmd/snapshot/snapshot-text.h"

#include "base/units.h"
#include "cmd/printable.h"
#include "cprof-snapshot.h"

#include <string.h>

static const char *label_of(const struct cprof_recorder *r, size_t i,
			    const struct cprof_snapshot_entry *e, const char *key)
{
	struct cprof_snapshot_label l;
	for (size_t k = 0; k < e->n_labels; k++) {
		cprof_snapshot_label(r, i, k, &l);
		if (strcmp(l.key, key) == 0)
			return l.text;
	}
	return NULL;
}

static void print_label(FILE *to, const struct cprof_recorder *r, size_t i,
			const struct cprof_snapshot_entry *e, const char *key, const char *before)
{
	const char *text = label_of(r, i, e, key);
	if (!text)
		return;
	fputs(before, to);
	printable_text(to, text);
}

/* Labels that the program has given to a goroutine. */
static void print_own_labels(FILE *to, const struct cprof_recorder *r, size_t i,
			     const struct cprof_snapshot_entry *e)
{
	static const char *const ours[] = { "pid", "process_name", "snapshot" };
	struct cprof_snapshot_label l;
	for (size_t k = 0; k < e->n_labels; k++) {
		cprof_snapshot_label(r, i, k, &l);
		bool is_ours = strncmp(l.key, "go::", 4) == 0;
		for (size_t o = 0; o < sizeof(ours) / sizeof(*ours); o++)
			is_ours |= strcmp(l.key, ours[o]) == 0;
		if (is_ours)
			continue;
		fputs(", ", to);
		printable_text(to, l.key);
		fputc('=', to);
		printable_text(to, l.text);
	}
}

void snapshot_text_entry(FILE *to, const struct cprof_recorder *r, size_t i,
			 const struct cprof_snapshot_entry *e)
{
	char time[UNITS_TEXT_MAX];
	if (e->is_task) {
		fprintf(to, "goroutine %llu", (unsigned long long)e->id);
	} else {
		fputc('"', to);
		printable_text(to, e->name);
		fprintf(to, "\" tid %llu", (unsigned long long)e->id);
	}
	if (*e->state) {
		fputs(", ", to);
		printable_text(to, e->state);
	}
	if (e->has_wait)
		fprintf(to, " for about %s", units_estimate_text(e->wait_ns, time));
	print_label(to, r, i, e, "syscall", " in ");
	print_label(to, r, i, e, "wait_on", ", on ");
	print_label(to, r, i, e, "wchan", ", kernel ");
	print_label(to, r, i, e, "cpu", ", cpu ");
	print_label(to, r, i, e, "go::thread", ", thread ");
	print_label(to, r, i, e, "go::created_by", ", created by ");
	if (e->is_task)
		print_own_labels(to, r, i, e);
	if (strcmp(e->quality, "exact") != 0)
		fprintf(to, " (%s)", e->quality);
	fputc('\n', to);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool print_frame(void *ctx, const struct cprof_snapshot_frame *f)
{
	FILE *to = ctx;
	fputs("    at ", to);
	printable_text(to, f->function);
	if (*f->file) {
		fputs(" (", to);
		printable_text(to, f->file);
		if (f->line)
			fprintf(to, ":%u", f->line);
		fputc(')', to);
	} else if (*f->mapping) {
		fputs(" (", to);
		printable_text(to, base_of(f->mapping));
		fputc(')', to);
	}
	fputs(f->is_inlined ? " [inlined]\n" : "\n", to);
	return true;
}

void snapshot_text_stack(FILE *to, const struct cprof_recorder *r, uint32_t stack)
{
	cprof_snapshot_frames(r, stack, print_frame, to);
}

static void print_functions(FILE *to, const struct cprof_recorder *r)
{
	struct cprof_snapshot_functions p;
	cprof_snapshot_functions(r, &p);
	if (!p.n && !p.n_unknown && !*p.text)
		return;
	fprintf(to, "# functions of %llu thread%s", (unsigned long long)p.n, units_s(p.n));
	if (p.n_unknown)
		fprintf(to, ", unknown of %llu", (unsigned long long)p.n_unknown);
	fputs(*p.text ? " (" : "", to);
	printable_text(to, p.text);
	fputs(*p.text ? ")\n" : "\n", to);
}

static void print_tracer(FILE *to, const struct cprof_snapshot_window *w)
{
	if (!w->tracer) {
		fputs("which did not answer in time\n", to);
		return;
	}
	fprintf(to, "because process %u '", w->tracer);
	printable_text(to, w->tracer_name);
	fputs("' traces them\n", to);
}

void snapshot_text_head(FILE *to, const struct cprof_recorder *r)
{
	struct cprof_snapshot_window w;
	const char *name;
	uint64_t n;
	cprof_snapshot_window(r, &w);
	const char *what = w.is_task ? "goroutine" : "thread";
	size_t n_entries = cprof_snapshot_n_entries(r);
	fprintf(to, "# %zu %s%s, read within %.1f ms; ", n_entries,
		what, units_s(n_entries),
		(double)(w.to_ns - w.from_ns) / 1e6);
	if (w.n_stopped)
		fprintf(to, "%llu %s stopped, the longest for %.1f ms\n",
			(unsigned long long)w.n_stopped, units_word(w.n_stopped, "was", "were"),
			(double)w.stopped_ns / 1e6);
	else
		fputs("none was stopped\n", to);
	if (w.n_not_stopped) {
		fprintf(to, "# not stopped: %llu thread%s, ",
			(unsigned long long)w.n_not_stopped, units_s(w.n_not_stopped));
		print_tracer(to, &w);
	}
	for (size_t i = 0; (name = cprof_snapshot_quality(r, i, &n)); i++)
		if (n)
			fprintf(to, "#   %llu %s\n", (unsigned long long)n, name);
	if (w.n_short)
		fprintf(to, "# left out: %llu that have not been waiting for that long\n",
			(unsigned long long)w.n_short);
	print_functions(to, r);
	for (size_t i = 0; cprof_snapshot_loss(r, i, &n); i++)
		if (n)
			fprintf(to, "# not read: %llu %s%s %s\n", (unsigned long long)n, what,
				units_s(n), cprof_snapshot_loss_words(i));
}

void snapshot_text_print(FILE *to, const struct cprof_recorder *r)
{
	struct cprof_snapshot_entry e;
	uint32_t pid = 0;
	for (size_t i = 0; i < cprof_snapshot_n_entries(r); i++) {
		cprof_snapshot_entry(r, i, &e);
		if (e.pid != pid) {
			fprintf(to, "\nProcess %u \"", e.pid);
			printable_text(to, e.process_name);
			fputs("\"\n", to);
		}
		pid = e.pid;
		fputc('\n', to);
		snapshot_text_entry(to, r, i, &e);
		snapshot_text_stack(to, r, e.stack);
	}
}
