/*
 * Messages are encoded into one buffer, which goes to deflate once it is large enough.  Only this
 * buffer, zlib's window and the strings stay in memory: protocol buffers allow fields in any order,
 * so the string table, which is complete last, is written last.
 *
 * Numbers are packed: a stack of 45 ids takes about 90 bytes instead of 135.
 */

#include "proto/pprof.h"

#include "base/err.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "proto/gzip.h"
#include "proto/pprof-tags.h"
#include "proto/wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES (64u * 1024)
#define N_NEAR_LABELS 8

struct pprof {
	struct wire wire;
	struct gzip gzip;
	struct strtab strings;
	VEC(char) clean;                /* buffer for conversion to UTF-8 */
	/* String ids of the previous sample's labels by position; neighbours are usually equal. */
	uint32_t near_key[N_NEAR_LABELS], near_str[N_NEAR_LABELS];
	int code;                       /* the first failure */
	uint64_t n_mappings, n_functions, n_locations;
	size_t n_sample_types, n_values; /* n_values: of all samples so far */
	bool finished;
};

int pprof_new(pprof_write_fn *write, void *ctx, int level, struct pprof **ret_pprof, struct err *e)
{
	struct pprof *p = calloc(1, sizeof(*p));
	if (!p)
		goto no_memory;
	if (strtab_init(&p->strings, NULL) < 0 || gzip_open(&p->gzip, write, ctx, level) < 0)
		goto no_memory;
	*ret_pprof = p;
	return 0;
no_memory:
	pprof_free(p);
	return err_errno(e, ENOMEM, "cannot begin a profile");
}

void pprof_free(struct pprof *p)
{
	if (!p)
		return;
	gzip_close(&p->gzip);
	wire_done(&p->wire);
	strtab_done(&p->strings);
	VEC_FREE(&p->clean);
	free(p);
}

static bool usable(const struct pprof *p)
{
	assert(!p->finished);
	return p->code == 0;
}

static uint32_t intern(struct pprof *p, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	if (n == 0)
		return 0;
	if (utf8_valid_prefix(s, n) != n) {
		p->clean.n = 0;
		if (!VEC_RESERVE(&p->clean, UTF8_CLEAN_MAX(n))) {
			p->code = -ENOMEM;
			return 0;
		}
		n = utf8_clean(p->clean.v, s, n);
		s = p->clean.v;
	}
	uint32_t id = strtab_add(&p->strings, s, n);
	if (id == 0)
		p->code = -ENOMEM;
	return id;
}

/* Like intern; *near is the id of a likely equal string, and becomes the id of this one. */
static uint32_t intern_near(struct pprof *p, const char *s, uint32_t *near)
{
	if (!s || strcmp(strtab_get(&p->strings, *near), s) != 0)
		*near = intern(p, s);
	return *near;
}

static void flush(struct pprof *p)
{
	if (p->wire.failed && p->code == 0)
		p->code = -ENOMEM;
	if (p->code == 0)
		p->code = gzip_write(&p->gzip, p->wire.p, p->wire.n);
	p->wire.n = 0;
}

/* Call only between messages. */
static void message_done(struct pprof *p)
{
	if (p->wire.n >= FLUSH_BYTES || p->wire.failed)
		flush(p);
}

static void value_type(struct pprof *p, unsigned int field, const char *type, const char *unit)
{
	size_t mark = wire_begin(&p->wire, field);
	wire_uint(&p->wire, PPROF_VALUE_TYPE_TYPE, intern(p, type));
	wire_uint(&p->wire, PPROF_VALUE_TYPE_UNIT, intern(p, unit));
	wire_end(&p->wire, mark);
	message_done(p);
}

void pprof_sample_type(struct pprof *p, const char *type, const char *unit)
{
	p->n_sample_types++;
	if (usable(p))
		value_type(p, PPROF_PROFILE_SAMPLE_TYPE, type, unit);
}

static void label(struct pprof *p, const struct pprof_label *l, size_t i)
{
	size_t near = i % N_NEAR_LABELS;
	uint32_t str = l->str ? intern_near(p, l->str, &p->near_str[near]) : 0;
	uint32_t num_unit = intern(p, l->num_unit);
	if (str == 0 && (l->str || (l->num == 0 && num_unit == 0)))
		return;
	size_t mark = wire_begin(&p->wire, PPROF_SAMPLE_LABEL);
	wire_uint(&p->wire, PPROF_LABEL_KEY, intern_near(p, l->key, &p->near_key[near]));
	if (l->str) {
		wire_uint(&p->wire, PPROF_LABEL_STR, str);
	} else {
		wire_uint(&p->wire, PPROF_LABEL_NUM, (uint64_t)l->num);
		wire_uint(&p->wire, PPROF_LABEL_NUM_UNIT, num_unit);
	}
	wire_end(&p->wire, mark);
}

void pprof_sample(struct pprof *p, const uint64_t *location_ids, size_t n_locations,
		  const int64_t *values, size_t n_values,
		  const struct pprof_label *labels, size_t n_labels)
{
	assert(p->n_values == 0 || p->n_values == n_values);
	p->n_values = n_values;
	if (!usable(p))
		return;
	size_t mark = wire_begin(&p->wire, PPROF_PROFILE_SAMPLE);
	wire_packed(&p->wire, PPROF_SAMPLE_LOCATION_ID, location_ids, n_locations);
	/* int64_t and uint64_t may alias. */
	wire_packed(&p->wire, PPROF_SAMPLE_VALUE, (const uint64_t *)values, n_values);
	for (size_t i = 0; i < n_labels; i++)
		label(p, &labels[i], i);
	wire_end(&p->wire, mark);
	message_done(p);
}

uint64_t pprof_mapping(struct pprof *p, const struct pprof_mapping *m)
{
	uint64_t id = ++p->n_mappings;
	if (!usable(p))
		return id;
	struct wire *w = &p->wire;
	size_t mark = wire_begin(w, PPROF_PROFILE_MAPPING);
	wire_uint(w, PPROF_MAPPING_ID, id);
	wire_uint(w, PPROF_MAPPING_MEMORY_START, m->memory_start);
	wire_uint(w, PPROF_MAPPING_MEMORY_LIMIT, m->memory_limit);
	wire_uint(w, PPROF_MAPPING_FILE_OFFSET, m->file_offset);
	wire_uint(w, PPROF_MAPPING_FILENAME, intern(p, m->filename));
	wire_uint(w, PPROF_MAPPING_BUILD_ID, intern(p, m->build_id));
	wire_uint(w, PPROF_MAPPING_HAS_FUNCTIONS, m->has_functions);
	wire_uint(w, PPROF_MAPPING_HAS_FILENAMES, m->has_filenames);
	wire_uint(w, PPROF_MAPPING_HAS_LINE_NUMBERS, m->has_line_numbers);
	wire_uint(w, PPROF_MAPPING_HAS_INLINE_FRAMES, m->has_inline_frames);
	wire_end(w, mark);
	message_done(p);
	return id;
}

uint64_t pprof_function(struct pprof *p, const struct pprof_function *f)
{
	uint64_t id = ++p->n_functions;
	if (!usable(p))
		return id;
	struct wire *w = &p->wire;
	size_t mark = wire_begin(w, PPROF_PROFILE_FUNCTION);
	wire_uint(w, PPROF_FUNCTION_ID, id);
	wire_uint(w, PPROF_FUNCTION_NAME, intern(p, f->name));
	wire_uint(w, PPROF_FUNCTION_SYSTEM_NAME, intern(p, f->system_name));
	wire_uint(w, PPROF_FUNCTION_FILENAME, intern(p, f->filename));
	wire_uint(w, PPROF_FUNCTION_START_LINE, (uint64_t)f->start_line);
	wire_end(w, mark);
	message_done(p);
	return id;
}

uint64_t pprof_location(struct pprof *p, uint64_t mapping_id, uint64_t address,
			const struct pprof_line *lines, size_t n_lines, bool is_folded)
{
	uint64_t id = ++p->n_locations;
	if (!usable(p))
		return id;
	struct wire *w = &p->wire;
	size_t mark = wire_begin(w, PPROF_PROFILE_LOCATION);
	wire_uint(w, PPROF_LOCATION_ID, id);
	wire_uint(w, PPROF_LOCATION_MAPPING_ID, mapping_id);
	wire_uint(w, PPROF_LOCATION_ADDRESS, address);
	for (size_t i = 0; i < n_lines; i++) {
		size_t line_mark = wire_begin(w, PPROF_LOCATION_LINE);
		wire_uint(w, PPROF_LINE_FUNCTION_ID, lines[i].function_id);
		wire_uint(w, PPROF_LINE_LINE, (uint64_t)lines[i].line);
		wire_uint(w, PPROF_LINE_COLUMN, (uint64_t)lines[i].column);
		wire_end(w, line_mark);
	}
	wire_uint(w, PPROF_LOCATION_IS_FOLDED, is_folded);
	wire_end(w, mark);
	message_done(p);
	return id;
}

void pprof_times(struct pprof *p, int64_t time_nanos, int64_t duration_nanos)
{
	if (!usable(p))
		return;
	wire_uint(&p->wire, PPROF_PROFILE_TIME_NANOS, (uint64_t)time_nanos);
	wire_uint(&p->wire, PPROF_PROFILE_DURATION_NANOS, (uint64_t)duration_nanos);
}

void pprof_period(struct pprof *p, const char *type, const char *unit, int64_t period)
{
	if (!usable(p))
		return;
	value_type(p, PPROF_PROFILE_PERIOD_TYPE, type, unit);
	wire_uint(&p->wire, PPROF_PROFILE_PERIOD, (uint64_t)period);
}

void pprof_comment(struct pprof *p, const char *text)
{
	if (!usable(p))
		return;
	wire_uint(&p->wire, PPROF_PROFILE_COMMENT, intern(p, text));
	message_done(p);
}

void pprof_filters(struct pprof *p, const char *drop, const char *keep, const char *doc_url)
{
	if (*drop && usable(p))
		wire_uint(&p->wire, PPROF_PROFILE_DROP_FRAMES, intern(p, drop));
	if (*keep && usable(p))
		wire_uint(&p->wire, PPROF_PROFILE_KEEP_FRAMES, intern(p, keep));
	if (*doc_url && usable(p))
		wire_uint(&p->wire, PPROF_PROFILE_DOC_URL, intern(p, doc_url));
}

void pprof_default_sample_type(struct pprof *p, const char *type)
{
	if (usable(p))
		wire_uint(&p->wire, PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, intern(p, type));
}

int pprof_finish(struct pprof *p, struct err *e)
{
	assert(p->n_values == 0 || p->n_values == p->n_sample_types);
	for (uint32_t id = 0; id < p->strings.n && usable(p); id++) {
		const char *s = strtab_get(&p->strings, id);
		wire_bytes(&p->wire, PPROF_PROFILE_STRING_TABLE, s, strlen(s));
		message_done(p);
	}
	if (p->code == 0)
		flush(p);
	if (p->code == 0)
		p->code = gzip_finish(&p->gzip);
	p->finished = true;
	return p->code < 0 ? err_errno(e, -p->code, "cannot write the profile") : 0;
}
