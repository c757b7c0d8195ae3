/*
 * The processed profile format of profiler.firefox.com, version 62, which newer front ends upgrade.
 * Samples are laid out one after the other, in milliseconds, since a profile has no timestamps.
 *
 * All threads share the tables, which are stored by column.  A frame is a place (forest.h), its
 * function is a row, its library is the mapping.  stringArray comes last, but every table refers to
 * it, so each kind of string has a fixed range: names of rows, then their files, then names of
 * mappings.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 62
#define ADDRESS_MAX ((uint64_t)1 << 53)  /* JavaScript's exact integers end here */

enum { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL };

struct firefox {
	const struct model *m;
	const struct rows *r;
	const struct forest *f;
	struct emit *o;
	uint32_t type;
	double ms_each;         /* 0: the values are not times */
	uint32_t *mapping_of;   /* by row: that of its first place, or MODEL_NONE */
	uint32_t *location_of;  /* by place */
};

/* "NAME":[...] with one expression for each i below n. */
#define COLUMN(x, name, n, ...) \
	do { \
		emit_text((x)->o, ",\n\"" name "\":["); \
		for (size_t i = 0; i < (n); i++) { \
			emit_text((x)->o, i > 0 ? "," : ""); \
			__VA_ARGS__; \
		} \
		emit_text((x)->o, "]"); \
	} while (0)

#define SAME(x, name, n, text) COLUMN(x, name, n, emit_text((x)->o, text))

static void put_length(const struct firefox *x, const char *table, size_t n)
{
	emit_format(x->o, "\n\"%s\":{\"length\":%zu", table, n);
}

static void put_index(const struct firefox *x, bool known, uint64_t index)
{
	if (known)
		emit_format(x->o, "%" PRIu64, index);
	else
		emit_text(x->o, "null");
}

static const char *file_of(const struct firefox *x, uint32_t mapping)
{
	return model_string(x->m, x->m->mapping[mapping].filename);
}

static const char *base_of(const struct firefox *x, uint32_t mapping)
{
	const char *path = file_of(x, mapping), *base = path_base_name(path);
	return *base ? base : path;
}

static uint32_t mapping_of_place(const struct firefox *x, size_t place)
{
	return x->m->location[x->location_of[place]].mapping;
}

static int category(const struct firefox *x, size_t place)
{
	uint32_t mapping = mapping_of_place(x, place);
	if (mapping == MODEL_NONE)
		return CATEGORY_OTHER;
	const char *file = file_of(x, mapping), *ko = strstr(file, ".ko");
	bool is_module = ko && (ko[3] == '\0' || ko[3] == '.');
	bool is_kernel = is_module || strncmp(file, "[kernel", 7) == 0 ||
			 strncmp(file, "[guest.kernel", 13) == 0;
	return is_kernel ? CATEGORY_KERNEL : CATEGORY_USER;
}

/* ---- meta and libs -------------------------------------------------------- */

static void put_meta(const struct firefox *x)
{
	const struct model *m = x->m;
	double interval = scale_ratio(model_string(m, m->period_type.unit), "milliseconds") *
			  (double)m->period;
	emit_text(x->o, "{\"meta\":{\"categories\":["
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],\n"
		"\"debug\":false,"
		"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},");
	emit_format(x->o, "\n\"interval\":%.6f,\"preprocessedProfileVersion\":%d,\"version\":24,",
		    interval > 0 && interval < 1e9 ? interval : 1.0, FORMAT_VERSION);
	emit_text(x->o, "\"processType\":0,\"product\":");
	const char *name = m->n_mappings > 0 ? base_of(x, 0) : "";
	emit_json(x->o, *name ? name : "profile");
	emit_text(x->o, ",\"importedFrom\":\"cprof\",\n\"sampleUnits\":{\"time\":\"ms\","
			"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"\u00b5s\"},");
	emit_format(x->o, "\"startTime\":%.3f,", (double)m->time_ns / 1e6);
	emit_text(x->o, "\"symbolicated\":true,\"pausedRanges\":[],\"usesOnlyOneStackType\":true,"
			"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[]},\n");
}

/* The build id in the form of Breakpad symbol servers: the first 16 bytes as a little endian GUID,
 * then the age 0.  All zeros without a build id. */
static void put_breakpad_id(const struct firefox *x, const char *id)
{
	static const unsigned char order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14,
						 15 };
	char text[34];
	size_t n = strspn(id, "0123456789abcdefABCDEF");
	memset(text, '0', 33);
	text[33] = '\0';
	for (size_t i = 0; i < 16 && id[n] == '\0'; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t at = 2u * order[i] + k;
			char c = at < n ? id[at] : '0';
			text[2 * i + k] = c >= 'a' ? (char)(c - 'a' + 'A') : c;
		}
	emit_json(x->o, text);
}

static void put_libs(const struct firefox *x)
{
	emit_text(x->o, "\"libs\":[");
	for (uint32_t i = 0; i < x->m->n_mappings; i++) {
		const char *id = model_string(x->m, x->m->mapping[i].build_id);
		emit_text(x->o, i > 0 ? ",\n{\"arch\":null,\"name\":" : "{\"arch\":null,\"name\":");
		emit_json(x->o, base_of(x, i));
		emit_text(x->o, ",\"path\":");
		emit_json(x->o, file_of(x, i));
		emit_text(x->o, ",\"debugName\":");
		emit_json(x->o, base_of(x, i));
		emit_text(x->o, ",\"debugPath\":");
		emit_json(x->o, file_of(x, i));
		emit_text(x->o, ",\"breakpadId\":");
		put_breakpad_id(x, id);
		emit_text(x->o, ",\"codeId\":");
		if (*id)
			emit_json(x->o, id);
		else
			emit_text(x->o, "null");
		emit_text(x->o, "}");
	}
	emit_text(x->o, "],\n\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n");
}

/* ---- shared tables -------------------------------------------------------- */

/* The offset in the library's file, which is the same in every process. */
static void put_address(const struct firefox *x, size_t place)
{
	const struct model_location *l = &x->m->location[x->location_of[place]];
	uint64_t address = l->address;
	if (l->mapping != MODEL_NONE) {
		const struct model_mapping *m = &x->m->mapping[l->mapping];
		address = address - m->memory_start + m->file_offset;
	}
	if (address == 0 || address >= ADDRESS_MAX)
		emit_text(x->o, "-1");
	else
		emit_format(x->o, "%" PRIu64, address);
}

static const struct model_line *line_of(const struct firefox *x, size_t place)
{
	const struct model_location *l = &x->m->location[x->location_of[place]];
	size_t k = place - x->r->first[x->location_of[place]];
	return k < l->n_lines ? &x->m->line[l->first_line + k] : NULL;
}

static void put_frames(const struct firefox *x, size_t n)
{
	put_length(x, "frameTable", n);
	COLUMN(x, "address", n, put_address(x, i));
	COLUMN(x, "inlineDepth", n,
	       emit_format(x->o, "%zu", x->r->first[x->location_of[i] + 1] - 1 - i));
	COLUMN(x, "category", n, emit_format(x->o, "%d", category(x, i)));
	SAME(x, "subcategory", n, "0");
	COLUMN(x, "func", n, emit_int(x->o, x->r->of[i]));
	SAME(x, "nativeSymbol", n, "null");
	SAME(x, "innerWindowID", n, "0");
	COLUMN(x, "line", n, const struct model_line *l = line_of(x, i);
	       put_index(x, l && l->line > 0, l ? (uint64_t)l->line : 0));
	COLUMN(x, "column", n, const struct model_line *l = line_of(x, i);
	       put_index(x, l && l->column > 0, l ? (uint64_t)l->column : 0));
	emit_text(x->o, "},");
}

static void put_functions(const struct firefox *x)
{
	size_t n = x->r->n_rows;
	put_length(x, "funcTable", n);
	COLUMN(x, "name", n, emit_format(x->o, "%zu", i));
	SAME(x, "isJS", n, "false");
	SAME(x, "relevantForJS", n, "false");
	COLUMN(x, "resource", n, emit_int(x->o, x->mapping_of[i] == MODEL_NONE
						       ? -1 : (int64_t)x->mapping_of[i]));
	COLUMN(x, "source", n, put_index(x, x->r->row[i].file[0], i));
	SAME(x, "lineNumber", n, "null");
	SAME(x, "columnNumber", n, "null");
	emit_text(x->o, "},");
	put_length(x, "sources", n);
	SAME(x, "id", n, "null");
	COLUMN(x, "filename", n, emit_format(x->o, "%zu", n + i));
	SAME(x, "startLine", n, "1");
	SAME(x, "startColumn", n, "1");
	SAME(x, "sourceMapURL", n, "null");
	emit_text(x->o, "},");
}

static void put_shared(const struct firefox *x)
{
	const struct rows *r = x->r;
	const struct forest *f = x->f;
	size_t n_mappings = x->m->n_mappings;
	emit_text(x->o, "\"shared\":{");
	put_frames(x, r->first[x->m->n_locations]);
	put_functions(x);
	put_length(x, "nativeSymbols", 0);
	emit_text(x->o, ",\"address\":[],\"functionSize\":[],\"libIndex\":[],\"name\":[]},");
	put_length(x, "resourceTable", n_mappings);
	COLUMN(x, "lib", n_mappings, emit_format(x->o, "%zu", i));
	COLUMN(x, "name", n_mappings, emit_format(x->o, "%zu", 2 * (size_t)r->n_rows + i));
	SAME(x, "host", n_mappings, "null");
	SAME(x, "type", n_mappings, "1");
	emit_text(x->o, "},");
	put_length(x, "stackTable", f->n_nodes);
	COLUMN(x, "frame", f->n_nodes, emit_int(x->o, f->node[i].frame));
	COLUMN(x, "prefix", f->n_nodes, put_index(x, f->node[i].parent != MODEL_NONE,
						  f->node[i].parent));
	emit_text(x->o, "},\n\"stringArray\":[");
	for (uint32_t i = 0; i < r->n_rows; i++) {
		emit_json(x->o, r->row[i].name);
		emit_text(x->o, ",\n");
	}
	for (uint32_t i = 0; i < r->n_rows; i++) {
		emit_json(x->o, r->row[i].file);
		emit_text(x->o, ",\n");
	}
	for (uint32_t i = 0; i < n_mappings; i++) {
		emit_json(x->o, base_of(x, i));
		emit_text(x->o, ",\n");
	}
	emit_text(x->o, "\"\"]},\n");
}

/* ---- threads -------------------------------------------------------------- */

/* One thread's rows of the samples table, in order. */
struct table { uint32_t *sample; size_t n; };

static int64_t value_of(const struct firefox *x, uint32_t sample)
{
	return model_value(x->m, sample, x->type);
}

static const char *weight_type(const struct firefox *x)
{
	if (x->ms_each > 0)
		return "tracing-ms";
	const char *unit = model_string(x->m, x->m->type[x->type].unit);
	return scale_ratio(unit, "bytes") > 0 ? "bytes" : "samples";
}

static void put_weight(const struct firefox *x, uint32_t sample)
{
	int64_t value = value_of(x, sample);
	double bytes_each = scale_ratio(model_string(x->m, x->m->type[x->type].unit), "bytes");
	if (x->ms_each > 0)
		emit_format(x->o, "%.6f", (double)value * x->ms_each);
	else
		emit_int(x->o, bytes_each > 1 ? (int64_t)((double)value * bytes_each) : value);
}

/* A sample begins where the previous one ends. */
static void put_delta(const struct firefox *x, const struct table *t, size_t i)
{
	if (i == 0)
		emit_text(x->o, "0");
	else if (x->ms_each > 0)
		emit_format(x->o, "%.6f",
			    (double)model_magnitude(value_of(x, t->sample[i - 1])) * x->ms_each);
	else
		emit_text(x->o, "1");
}

static void put_thread(const struct firefox *x, uint32_t index, const struct table *t)
{
	const struct model *m = x->m;
	const struct forest_thread *thread = &x->f->thread[index];
	const char *name = model_string(m, thread->name);
	const char *process = model_string(m, thread->process);
	emit_text(x->o, index > 0 ? ",\n{\"name\":" : "\n{\"name\":");
	char numbered[40];
	snprintf(numbered, sizeof(numbered), "thread %" PRId64, thread->tid);
	emit_json(x->o, *name ? name : x->f->n_threads > 1 ? numbered : "all threads");
	emit_text(x->o, ",\"processName\":");
	emit_json(x->o, *process ? process : m->n_mappings > 0 ? base_of(x, 0) : "profile");
	emit_format(x->o, ",\"pid\":\"%" PRId64 "\",\"tid\":\"%" PRId64 "\",\"isMainThread\":%s,",
		    thread->pid, thread->tid, thread->pid == thread->tid ? "true" : "false");
	emit_text(x->o, "\"processType\":\"default\",\"pausedRanges\":[],"
			"\"processStartupTime\":0,\"processShutdownTime\":null,"
			"\"registerTime\":0,\"unregisterTime\":null,"
			"\"showMarkersInTimeline\":false,\n\"markers\":{\"length\":0,"
			"\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],\"phase\":[],"
			"\"startTime\":[]},");
	put_length(x, "samples", t->n);
	COLUMN(x, "stack", t->n, uint32_t leaf = x->f->leaf[t->sample[i]];
	       put_index(x, leaf != MODEL_NONE, leaf));
	COLUMN(x, "timeDeltas", t->n, put_delta(x, t, i));
	COLUMN(x, "weight", t->n, put_weight(x, t->sample[i]));
	emit_format(x->o, ",\"weightType\":\"%s\"}}", weight_type(x));
}

/* Sorts the samples by thread: counts them, then distributes them. */
static int put_threads(const struct firefox *x)
{
	const struct model *m = x->m;
	uint32_t n_threads = x->f->n_threads;
	CLEANUP_FREE struct table *table = calloc((size_t)n_threads + 1, sizeof(*table));
	CLEANUP_FREE uint32_t *sample = calloc((size_t)m->n_samples + 1, sizeof(*sample));
	if (!table || !sample)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_samples; i++)
		if (value_of(x, i))
			table[x->f->thread_of[m->sample[i].labels]].n++;
	size_t at = 0;
	for (uint32_t i = 0; i < n_threads; i++) {
		table[i].sample = sample + at;
		at += table[i].n;
		table[i].n = 0;
	}
	for (uint32_t i = 0; i < m->n_samples; i++) {
		if (value_of(x, i)) {
			struct table *t = &table[x->f->thread_of[m->sample[i].labels]];
			t->sample[t->n++] = i;
		}
	}
	emit_text(x->o, "\"threads\":[");
	for (uint32_t i = 0; i < n_threads; i++)
		put_thread(x, i, &table[i]);
	emit_text(x->o, "]}\n");
	return 0;
}

static int put_all(struct firefox *x)
{
	size_t n_places = x->r->first[x->m->n_locations];
	CLEANUP_FREE uint32_t *mapping_of = malloc(((size_t)x->r->n_rows + 1) * sizeof(uint32_t));
	CLEANUP_FREE uint32_t *location_of = malloc((n_places + 1) * sizeof(uint32_t));
	if (!mapping_of || !location_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->r->n_rows; i++)
		mapping_of[i] = MODEL_NONE;
	for (uint32_t l = 0; l < x->m->n_locations; l++) {
		for (size_t i = x->r->first[l]; i < x->r->first[l + 1]; i++) {
			location_of[i] = l;
			if (mapping_of[x->r->of[i]] == MODEL_NONE)
				mapping_of[x->r->of[i]] = x->m->location[l].mapping;
		}
	}
	x->mapping_of = mapping_of;
	x->location_of = location_of;
	put_meta(x);
	put_libs(x);
	put_shared(x);
	return put_threads(x);
}

static int write_firefox(const struct model *m, uint32_t type, struct emit *o,
			 uint64_t *ret_n_left_out, struct err *e)
{
	CLEANUP(rows_freep) struct rows *rows = NULL;
	CLEANUP(forest_freep) struct forest *f = NULL;
	int r = rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	r = forest_new(m, rows, type, FOREST_PLACES, FOREST_NEGATIVE, &f, e);
	if (r < 0)
		return r;
	struct firefox x = { .m = m, .r = rows, .f = f, .o = o, .type = type };
	x.ms_each = scale_ratio(model_string(m, m->type[type].unit), "milliseconds");
	if (put_all(&x) < 0)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	*ret_n_left_out = 0;
	return 0;
}

const struct format conv_firefox = {
	.name = "firefox",
	.contents = "a Firefox profile",
	.ending = { ".firefox.json", ".profile.json", ".firefox" },
	.write = write_firefox,
};
