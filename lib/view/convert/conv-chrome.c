/*
 * The Trace Event format, read by Perfetto and chrome://tracing, as complete events ("ph": "X").
 * A profile has no timestamps, so calls are laid out one after the other, each as long as its
 * value; a value that is not a time counts as 1 us per unit.  Negative values have no place.
 *
 * Parents precede their children in the forest, so each node starts where the previous child of its
 * parent ended.  Readers add start and duration as floating-point numbers of microseconds, and a
 * child that then ends after its parent confuses them.  So times are multiples of an eighth of a
 * microsecond, for which these sums are exact: children that fill their parent end when it does.
 * A call ends one such step before the next one begins, because speedscope takes an end and a begin
 * of equal calls at the same time for a call without length.
 *
 * Events have no arguments: speedscope makes them a part of the name, so that calls of one function
 * with different values would be different functions.  The file is the category instead, which
 * Perfetto shows.
 */

#include "view/convert/format.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "view/convert/forest.h"
#include "view/table/rows.h"
#include "view/model/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A binary fraction of a microsecond with three decimals. */
#define STEP_NS 125

static void put_us(struct emit *o, int64_t ns)
{
	emit_format(o, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

/* A multiple of STEP_NS. */
static int64_t to_ns(int64_t value, double ns_each)
{
	double scaled = (double)value * ns_each;
	int64_t ns = ns_each == 1 ? value : scaled >= 0x1p63 ? INT64_MAX : (int64_t)scaled;
	return ns / STEP_NS * STEP_NS;
}

/* The separator before each event but the first. */
static void put_comma(struct emit *o, bool *first)
{
	emit_text(o, *first ? "" : ",\n");
	*first = false;
}

static void put_meta(struct emit *o, bool *first, const char *what, const struct forest_thread *t,
		     const char *name)
{
	put_comma(o, first);
	emit_format(o, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		       ",\"args\":{\"name\":", what, t->pid, t->tid);
	emit_json(o, name);
	emit_text(o, "}}");
}

/* The name of processes without a label for it: they all have the same one.  "" if unknown. */
static const char *program_name(const struct model *m)
{
	static const char begin[] = "process: ";
	for (uint32_t i = 0; i < m->n_comments; i++) {
		const char *comment = model_string(m, m->comment[i]);
		if (strncmp(comment, begin, strlen(begin)) == 0)
			return comment + strlen(begin);
	}
	const char *file = m->n_mappings ? model_string(m, m->mapping[0].filename) : "";
	return *file == '[' ? "" : path_base_name(file);
}

static void put_names(const struct model *m, const struct forest *f, struct emit *o, bool *first)
{
	const char *program = program_name(m);
	for (uint32_t i = 0; i < f->n_threads; i++) {
		const struct forest_thread *t = &f->thread[i];
		if (t->name)
			put_meta(o, first, "thread_name", t, model_string(m, t->name));
		if (t->process || *program)
			put_meta(o, first, "process_name", t,
				 t->process ? model_string(m, t->process) : program);
	}
}

static int put_calls(const struct rows *r, const struct forest *f, double ns_each, struct emit *o,
		     bool *first)
{
	CLEANUP_FREE int64_t *begin = calloc((size_t)f->n_nodes + 1, sizeof(*begin));
	CLEANUP_FREE int64_t *next = calloc((size_t)f->n_nodes + 1, sizeof(*next));
	CLEANUP_FREE int64_t *thread_next = calloc((size_t)f->n_threads + 1, sizeof(*thread_next));
	if (!begin || !next || !thread_next)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_nodes; i++) {
		const struct forest_node *n = &f->node[i];
		const struct forest_thread *t = &f->thread[n->thread];
		int64_t *at = n->parent == MODEL_NONE ? &thread_next[n->thread] : &next[n->parent];
		begin[i] = next[i] = *at;
		*at = model_add(*at, n->total);
		int64_t ts = to_ns(begin[i], ns_each), end = to_ns(*at, ns_each) - STEP_NS;
		end = end > 0 ? end : 0;
		ts = ts < end ? ts : end;
		put_comma(o, first);
		emit_text(o, "{\"ph\":\"X\",\"name\":");
		emit_json(o, r->row[n->frame].name);
		const char *file = r->row[n->frame].file;
		emit_text(o, ",\"cat\":");
		emit_json(o, file[0] ? file : "cprof");
		emit_format(o, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", t->pid, t->tid);
		put_us(o, ts);
		emit_text(o, ",\"dur\":");
		put_us(o, end - ts);
		emit_text(o, "}");
	}
	return 0;
}

static int write_chrome(const struct model *m, uint32_t type, struct emit *o,
			uint64_t *ret_n_left_out, struct err *e)
{
	CLEANUP(rows_freep) struct rows *rows = NULL;
	CLEANUP(forest_freep) struct forest *f = NULL;
	const char *unit = model_string(m, m->type[type].unit);
	double ns_each = scale_ratio(unit, "nanoseconds");
	bool first = true;
	int r = rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	r = forest_new(m, rows, type, FOREST_ROWS, 0, &f, e);
	if (r < 0)
		return r;
	emit_text(o, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"exporter\":\"cprof\","
		     "\"sample_type\":");
	emit_json(o, model_string(m, m->type[type].type));
	emit_text(o, ",\"unit\":");
	emit_json(o, unit);
	emit_text(o, "},\n\"traceEvents\":[\n");
	put_names(m, f, o, &first);
	if (put_calls(rows, f, ns_each > 0 ? ns_each : 1000, o, &first) < 0)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	emit_text(o, "]}\n");
	*ret_n_left_out = f->n_left_out;
	return 0;
}

const struct format conv_chrome = {
	.name = "chrome",
	.alias = "perfetto",
	.contents = "a Chrome trace",
	.ending = { ".trace.json", ".perfetto.json", ".chrome.json", ".trace" },
	.write = write_chrome,
};
