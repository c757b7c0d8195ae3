/*
 * The format of www.speedscope.app/file-format-schema.json: one sampled profile for each sample
 * type; `type` is shown first.  It cannot hold negative values, of any type.
 */

#include "base/cleanup.h"
#include "view/convert/format.h"

#include "base/err.h"
#include "base/vec.h"
#include "view/table/rows.h"

#include <errno.h>
#include <string.h>

/* The schema's name for a unit; "none" for those that it lacks. */
static const char *unit_of(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(unit, known[i]) == 0)
			return known[i];
	return "none";
}

static void put_frames(const struct rows *r, struct emit *o)
{
	for (uint32_t i = 0; i < r->n_rows; i++) {
		emit_text(o, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
		emit_json(o, r->row[i].name);
		if (r->row[i].file[0]) {
			emit_text(o, ",\"file\":");
			emit_json(o, r->row[i].file);
		}
		if (r->row[i].line > 0) {
			emit_text(o, ",\"line\":");
			emit_int(o, r->row[i].line);
		}
		emit_text(o, "}");
	}
}

/* Outermost first. */
static bool put_stack(const struct model *m, const struct rows *r, uint32_t sample, struct emit *o)
{
	VEC(uint32_t) path = { 0 };
	bool fits = true;
	for (struct rows_walk w = rows_begin(r, m, NULL, sample); fits && rows_next(&w);)
		fits = VEC_PUSH(&path, w.row);
	emit_text(o, "[");
	for (size_t i = path.n; i-- > 0;) {
		emit_int(o, path.v[i]);
		if (i > 0)
			emit_text(o, ",");
	}
	emit_text(o, "]");
	VEC_FREE(&path);
	return fits;
}

static bool put_profile(const struct model *m, const struct rows *r, uint32_t type, struct emit *o,
			uint64_t *n_left_out)
{
	int64_t total = 0;
	bool fits = true;
	const char *before = "";
	emit_text(o, "{\"type\":\"sampled\",\"name\":");
	emit_json(o, model_string(m, m->type[type].type));
	emit_format(o, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
		    unit_of(model_string(m, m->type[type].unit)));
	for (uint32_t i = 0; fits && i < m->n_samples; i++) {
		int64_t v = model_value(m, i, type);
		*n_left_out += v < 0;
		if (v <= 0)
			continue;
		total = model_add(total, v);
		emit_text(o, before);
		before = ",\n";
		fits = put_stack(m, r, i, o);
	}
	emit_text(o, "],\n\"weights\":[");
	before = "";
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t v = model_value(m, i, type);
		if (v <= 0)
			continue;
		emit_text(o, before);
		before = ",";
		emit_int(o, v);
	}
	emit_format(o, "],\"endValue\":%lld}", (long long)total);
	return fits;
}

static int write_speedscope(const struct model *m, uint32_t type, struct emit *o,
			    uint64_t *ret_n_left_out, struct err *e)
{
	CLEANUP(rows_freep) struct rows *rows = NULL;
	uint64_t n_left_out = 0;
	bool fits = true;
	int r = rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	emit_text(o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		     "\"exporter\":\"cprof\",\"name\":");
	/* The main binary names the profile best. */
	const char *name = m->n_mappings > 0 ? model_string(m, m->mapping[0].filename) : "";
	emit_json(o, *name ? name : "profile");
	emit_format(o, ",\"activeProfileIndex\":%u,\n\"shared\":{\"frames\":[", type);
	put_frames(rows, o);
	emit_text(o, "]},\n\"profiles\":[");
	for (uint32_t i = 0; i < m->n_types && fits; i++) {
		emit_text(o, i > 0 ? ",\n" : "");
		fits = put_profile(m, rows, i, o, &n_left_out);
	}
	emit_text(o, "]}\n");
	if (!fits)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	*ret_n_left_out = n_left_out;
	return 0;
}

const struct format conv_speedscope = {
	.name = "speedscope",
	.contents = "a speedscope profile",
	.ending = { ".speedscope.json", ".speedscope" },
	.write = write_speedscope,
};
