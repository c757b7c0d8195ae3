/*
 * The file is written entry by entry, and no text of a target is written as it is.  Labels that are
 * numbers are numbers, too.
 */

#include "cmd/snapshot/snapshot-json.h"

#include "cmd/printable.h"
#include "cprof-snapshot.h"

struct frames { FILE *to; bool any; };

static bool print_frame(void *ctx, const struct cprof_snapshot_frame *f)
{
	struct frames *x = ctx;
	fputs(x->any ? ",{\"function\":" : "{\"function\":", x->to);
	printable_json(x->to, f->function);
	if (*f->file) {
		fputs(",\"file\":", x->to);
		printable_json(x->to, f->file);
	}
	if (f->line)
		fprintf(x->to, ",\"line\":%u", f->line);
	if (*f->mapping) {
		fputs(",\"mapping\":", x->to);
		printable_json(x->to, f->mapping);
		fprintf(x->to, ",\"address\":%llu", (unsigned long long)f->address);
	}
	fputs(f->is_inlined ? ",\"inlined\":true}" : "}", x->to);
	x->any = true;
	return true;
}

static void print_labels(FILE *to, const struct cprof_recorder *r, size_t i,
			 const struct cprof_snapshot_entry *e)
{
	struct cprof_snapshot_label l;
	for (size_t k = 0; k < e->n_labels; k++) {
		cprof_snapshot_label(r, i, k, &l);
		fputs(k ? "," : "", to);
		printable_json(to, l.key);
		fputc(':', to);
		if (l.unit)
			fputs(l.text, to);
		else
			printable_json(to, l.text);
	}
}

static void print_entry(FILE *to, const struct cprof_recorder *r, size_t i)
{
	struct cprof_snapshot_entry e;
	struct frames frames = { .to = to };
	cprof_snapshot_entry(r, i, &e);
	fprintf(to, "%s\n{\"pid\":%u,\"%s\":%llu,\"name\":", i ? "," : "", e.pid,
		e.is_task ? "id" : "tid", (unsigned long long)e.id);
	printable_json(to, e.name);
	if (e.has_wait)
		fprintf(to, ",\"wait_ns\":%llu", (unsigned long long)e.wait_ns);
	fputs(",\"labels\":{", to);
	print_labels(to, r, i, &e);
	fputs("},\"frames\":[", to);
	cprof_snapshot_frames(r, e.stack, print_frame, &frames);
	fputs("]}", to);
}

static void print_numbers(FILE *to, const struct cprof_recorder *r,
			  const char *(*each)(const struct cprof_recorder *, size_t, uint64_t *))
{
	const char *name;
	uint64_t n;
	for (size_t i = 0; (name = each(r, i, &n)); i++) {
		fputs(i ? "," : "", to);
		printable_json(to, name);
		fprintf(to, ":%llu", (unsigned long long)n);
	}
}

static void print_functions(FILE *to, const struct cprof_recorder *r)
{
	struct cprof_snapshot_functions p;
	cprof_snapshot_functions(r, &p);
	fprintf(to, "\"functions\":{\"threads\":%llu,\"unknown\":%llu,\"text\":",
		(unsigned long long)p.n, (unsigned long long)p.n_unknown);
	printable_json(to, p.text);
	fputs("},", to);
}

void snapshot_json_print(FILE *to, const struct cprof_recorder *r)
{
	struct cprof_snapshot_window w;
	cprof_snapshot_window(r, &w);
	fprintf(to, "{\"window_ns\":%llu,\"n_stopped\":%llu,\"stopped_ns\":%llu,"
		"\"n_not_stopped\":%llu,\"tracer\":%u,\"n_short\":%llu,"
		"\"quality\":{",
		(unsigned long long)(w.to_ns - w.from_ns), (unsigned long long)w.n_stopped,
		(unsigned long long)w.stopped_ns, (unsigned long long)w.n_not_stopped, w.tracer,
		(unsigned long long)w.n_short);
	print_numbers(to, r, cprof_snapshot_quality);
	fputs("},\"lost\":{", to);
	print_numbers(to, r, cprof_snapshot_loss);
	fputs("},", to);
	print_functions(to, r);
	fputs("\"entries\":[", to);
	for (size_t i = 0; i < cprof_snapshot_n_entries(r); i++)
		print_entry(to, r, i);
	fputs("]}\n", to);
}
