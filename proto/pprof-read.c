/*
 * A first walk over the file counts, so that every array is allocated once at its final size.  Then
 * each kind of message is read in an order in which references point backwards: strings, mappings
 * and functions, locations, samples.  Each of these walks covers the range from the first message
 * of its kind to the last, and reads only the headers of other messages in between.
 *
 * All results are in one arena and refer to nothing outside it.
 */

#include "proto/pprof-read.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "proto/gzip.h"
#include "proto/pprof-message.h"
#include "proto/pprof-tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES_DEFAULT GZIP_BYTES_MAX
#define MAX_ITEMS (1u << 30)

static int count_items(struct pprof_reader *reader, unsigned int field, const uint8_t *at,
		       const uint8_t *end, size_t n)
{
	if (!reader->range[field].p)
		reader->range[field].p = at;
	reader->range[field].end = end;
	reader->count[field] += n;
	if (reader->count[field] > MAX_ITEMS)
		return err_set(reader->e, E2BIG, "a profile of more than %u items", MAX_ITEMS);
	return 0;
}

static int count_all(struct pprof_reader *reader)
{
	struct bytes b = reader->all, body;
	struct wire_field f;
	unsigned int number;
	int got = 1;
	while (got > 0) {
		const uint8_t *at = b.p;
		size_t n = 1;
		int r = 0;
		if (pprof_field_quick(&b, &number, &body)) {
			f = (struct wire_field){ .number = number, .type = WIRE_BYTES,
						 .body = body };
		} else if ((got = pprof_field_next(reader, &b, &f)) <= 0) {
			return got;
		}
		if (f.number >= PPROF_PROFILE_N_TAGS)
			continue;
		if (f.number == PPROF_PROFILE_COMMENT) {
			n = 0;
			r = pprof_field_count(reader, &b, &f, &n);
		}
		if (r == 0)
			r = count_items(reader, f.number, at, b.p, n);
		if (r < 0)
			return r;
	}
	return got;
}

/* The next message in one of two fields: the number of its field, or 0 at the end. */
static inline int next_message(struct pprof_reader *reader, struct bytes *b, unsigned int field,
			       unsigned int other, struct bytes *ret)
{
	struct wire_field f;
	for (;;) {
		while (pprof_field_quick(b, &f.number, ret))
			if (f.number == field || f.number == other)
				return (int)f.number;
		int got = pprof_field_next(reader, b, &f);
		if (got <= 0)
			return got;
		if (f.number != field && f.number != other)
			continue;
		int r = pprof_field_body(reader, b, &f, ret);
		return r < 0 ? r : (int)f.number;
	}
}

static int read_kind(struct pprof_reader *reader, unsigned int field,
		     pprof_message_fn *read_message)
{
	struct bytes b = reader->range[field], body;
	int got;
	if (!b.p)
		return 0;
	while ((got = next_message(reader, &b, field, field, &body)) > 0) {
		int r = read_message(reader, body, reader->done[field]++);
		if (r < 0)
			return r;
	}
	return got;
}

/* The comments in field f, which has just been read from `at`. */
static int read_comments(struct pprof_reader *reader, const struct bytes *at,
			 const struct wire_field *f)
{
	struct profile *p = reader->p;
	struct pprof_numbers numbers = { 0 };
	struct wire_field one = { .type = WIRE_VARINT };
	int got;
	while ((got = pprof_field_number(reader, f, &numbers, &one.value)) > 0) {
		int r = pprof_field_string(reader, at, &one, &p->comment[p->n_comments++]);
		if (r < 0)
			return r;
	}
	return got;
}

/* The fields with this number that are no messages. */
static int read_scalar(struct pprof_reader *reader, unsigned int field)
{
	struct profile *p = reader->p;
	struct bytes b = reader->range[field];
	struct wire_field f;
	int got;
	if (!b.p)
		return 0;
	while ((got = pprof_field_next(reader, &b, &f)) > 0) {
		int r = 0;
		if (f.number != field)
			continue;
		switch (f.number) {
		case PPROF_PROFILE_DROP_FRAMES:
			r = pprof_field_string(reader, &b, &f, &p->drop_frames);
			break;
		case PPROF_PROFILE_KEEP_FRAMES:
			r = pprof_field_string(reader, &b, &f, &p->keep_frames);
			break;
		case PPROF_PROFILE_DOC_URL:
			r = pprof_field_string(reader, &b, &f, &p->doc_url);
			break;
		case PPROF_PROFILE_TIME_NANOS:
			r = pprof_field_int(reader, &b, &f, &p->time_nanos);
			break;
		case PPROF_PROFILE_DURATION_NANOS:
			r = pprof_field_int(reader, &b, &f, &p->duration_nanos);
			break;
		case PPROF_PROFILE_PERIOD: r = pprof_field_int(reader, &b, &f, &p->period); break;
		case PPROF_PROFILE_DEFAULT_SAMPLE_TYPE:
			r = pprof_field_string(reader, &b, &f, &p->default_sample_type);
			break;
		case PPROF_PROFILE_COMMENT: r = read_comments(reader, &b, &f); break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

static int read_scalars(struct pprof_reader *reader)
{
	static const uint8_t fields[] = {
		PPROF_PROFILE_DROP_FRAMES, PPROF_PROFILE_KEEP_FRAMES, PPROF_PROFILE_DOC_URL,
		PPROF_PROFILE_TIME_NANOS, PPROF_PROFILE_DURATION_NANOS, PPROF_PROFILE_PERIOD,
		PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, PPROF_PROFILE_COMMENT,
	};
	int r = 0;
	for (size_t i = 0; i < sizeof(fields) && r == 0; i++)
		r = read_scalar(reader, fields[i]);
	return r;
}

static int allocate_structs(struct pprof_reader *reader)
{
	struct profile *p = reader->p;
	p->string = reader->string;
	p->location = PPROF_NEW(reader, struct profile_location, p->n_locations);
	p->function = PPROF_NEW(reader, struct profile_function, p->n_functions);
	return p->location && p->function ? 0 : pprof_field_no_memory(reader);
}

static int allocate_tables(struct pprof_reader *reader)
{
	const struct profile *p = reader->p;
	struct pprof_tables *t = reader->tables;
	t->text = PPROF_NEW(reader, struct strtab_text, p->n_strings);
	t->function = PPROF_NEW(reader, struct pprof_function_row, p->n_functions);
	t->location = PPROF_NEW(reader, struct pprof_location_row, p->n_locations);
	t->function_id = PPROF_NEW(reader, uint64_t, p->n_functions);
	t->location_id = PPROF_NEW(reader, uint64_t, p->n_locations);
	return t->text && t->function && t->location && t->function_id && t->location_id
		       ? 0 : pprof_field_no_memory(reader);
}

static int allocate(struct pprof_reader *reader)
{
	struct profile *p = reader->p;
	p->n_strings = reader->n_strings = reader->count[PPROF_PROFILE_STRING_TABLE];
	p->n_sample_types = reader->count[PPROF_PROFILE_SAMPLE_TYPE];
	p->n_samples = reader->count[PPROF_PROFILE_SAMPLE];
	p->n_mappings = reader->count[PPROF_PROFILE_MAPPING];
	p->n_locations = reader->count[PPROF_PROFILE_LOCATION];
	p->n_functions = reader->count[PPROF_PROFILE_FUNCTION];
	reader->string = PPROF_NEW(reader, const char *, p->n_strings);
	p->sample_type = PPROF_NEW(reader, struct profile_value_type, p->n_sample_types);
	p->mapping = PPROF_NEW(reader, struct profile_mapping, p->n_mappings);
	p->comment = PPROF_NEW(reader, const char *, reader->count[PPROF_PROFILE_COMMENT]);
	if (!reader->string || !p->sample_type || !p->mapping || !p->comment)
		return pprof_field_no_memory(reader);
	return reader->tables ? allocate_tables(reader) : allocate_structs(reader);
}

static int read_structs(struct pprof_reader *reader)
{
	struct profile *p = reader->p;
	int r = read_kind(reader, PPROF_PROFILE_FUNCTION, pprof_message_function);
	if (r == 0)
		r = pprof_ids_init(reader, &reader->functions, p->function, sizeof(*p->function),
				   p->n_functions, "function");
	if (r == 0)
		r = read_kind(reader, PPROF_PROFILE_LOCATION, pprof_message_location);
	if (r == 0)
		r = pprof_ids_init(reader, &reader->locations, p->location, sizeof(*p->location),
				   p->n_locations, "location");
	return r;
}

static struct bytes joined(const struct bytes *a, const struct bytes *b)
{
	struct bytes all = a->p ? *a : *b;
	if (a->p && b->p && b->p < a->p)
		all.p = b->p;
	if (a->p && b->p && b->end > a->end)
		all.end = b->end;
	return all;
}

/* Most writers write a function when the first location needs it.  So one walk reads the functions,
 * and finds the locations, which refer to them. */
static int read_functions(struct pprof_reader *reader, struct bytes *location)
{
	struct bytes b = joined(&reader->range[PPROF_PROFILE_FUNCTION],
				&reader->range[PPROF_PROFILE_LOCATION]), body;
	size_t n_functions = 0, n_locations = 0;
	int got = 0;
	while (b.p && (got = next_message(reader, &b, PPROF_PROFILE_FUNCTION,
					  PPROF_PROFILE_LOCATION, &body)) > 0) {
		if (got == PPROF_PROFILE_LOCATION) {
			location[n_locations++] = body;
			continue;
		}
		int r = pprof_tables_function(reader, body, n_functions++);
		if (r < 0)
			return r;
	}
	return got;
}

static int read_tables(struct pprof_reader *reader)
{
	const struct pprof_tables *t = reader->tables;
	const struct profile *p = reader->p;
	struct bytes *location = PPROF_NEW(reader, struct bytes, p->n_locations);
	if (!location)
		return pprof_field_no_memory(reader);
	int r = read_functions(reader, location);
	if (r == 0)
		r = pprof_ids_init(reader, &reader->functions, t->function_id,
				   sizeof(*t->function_id), p->n_functions, "function");
	for (size_t i = 0; i < p->n_locations && r == 0; i++)
		r = pprof_tables_location(reader, location[i], i);
	if (r == 0)
		r = pprof_ids_init(reader, &reader->locations, t->location_id,
				   sizeof(*t->location_id), p->n_locations, "location");
	return r;
}

int pprof_read_head(struct pprof_reader *reader)
{
	int r = count_all(reader);
	if (r < 0)
		return r;
	if (reader->count[PPROF_PROFILE_STRING_TABLE] == 0)
		return err_set(reader->e, EINVAL, "not a valid profile: it has no string table");
	if (!(reader->p = PPROF_NEW(reader, struct profile, 1)))
		return pprof_field_no_memory(reader);
	struct profile *p = reader->p;
	p->default_sample_type = p->drop_frames = p->keep_frames = p->doc_url = "";
	p->period_type = (struct profile_value_type){ "", "" };
	if ((r = allocate(reader)) < 0 ||
	    (r = read_kind(reader, PPROF_PROFILE_STRING_TABLE,
			   reader->tables ? pprof_tables_string : pprof_message_string)) < 0 ||
	    (r = read_kind(reader, PPROF_PROFILE_SAMPLE_TYPE, pprof_message_sample_type)) < 0 ||
	    (r = read_kind(reader, PPROF_PROFILE_PERIOD_TYPE, pprof_message_period_type)) < 0 ||
	    (r = read_scalars(reader)) < 0 ||
	    (r = read_kind(reader, PPROF_PROFILE_MAPPING, pprof_message_mapping)) < 0 ||
	    (r = pprof_ids_init(reader, &reader->mappings, p->mapping, sizeof(*p->mapping),
				p->n_mappings, "mapping")) < 0)
		return r;
	return reader->tables ? read_tables(reader) : read_structs(reader);
}

static int read_all(struct pprof_reader *reader)
{
	int r = pprof_read_head(reader);
	if (r < 0)
		return r;
	reader->p->sample = PPROF_NEW(reader, struct profile_sample, reader->p->n_samples);
	if (!reader->p->sample)
		return pprof_field_no_memory(reader);
	return read_kind(reader, PPROF_PROFILE_SAMPLE, pprof_message_sample);
}

int profile_read(const void *data, size_t n_bytes, size_t max_bytes, struct profile **ret_profile,
		 struct err *e)
{
	CLEANUP_FREE uint8_t *inflated = NULL;
	if (max_bytes == 0 || max_bytes > SIZE_MAX / 2)
		max_bytes = gzip_is(data, n_bytes) ? gzip_plausible_bytes(n_bytes)
						   : MAX_BYTES_DEFAULT;
	if (gzip_is(data, n_bytes)) {
		int r = gzip_inflate(data, n_bytes, max_bytes, &inflated, &n_bytes, e);
		if (r < 0)
			return r;
		data = inflated;
	} else if (n_bytes > max_bytes) {
		return err_set(e, E2BIG, "a profile of more than %zu bytes", max_bytes);
	}
	if (n_bytes == 0)
		data = "";  /* arithmetic on NULL is undefined */
	struct pprof_reader reader = { .start = data, .all = bytes_of(data, n_bytes), .e = e };
	int r = read_all(&reader);
	pprof_ids_done(&reader);
	if (r < 0) {
		arena_free(reader.arena);
		return r;
	}
	reader.p->arena = reader.arena;
	*ret_profile = reader.p;
	return 0;
}

int profile_read_bytes(const char *path, uint8_t **ret_data, size_t *ret_n)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	CLEANUP_VEC VEC(uint8_t) data = { 0 };
	struct stat st;
	size_t want = 64 * 1024;
	/* One byte more finds the end of the file without another allocation. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= MAX_BYTES_DEFAULT)
		want = (size_t)st.st_size + 1;
	for (;;) {
		if (data.n > MAX_BYTES_DEFAULT)
			return -EFBIG;
		if (!VEC_RESERVE(&data, data.n ? 1 : want))
			return -ENOMEM;
		ssize_t got = read(fd, data.v + data.n, data.cap - data.n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		data.n += (size_t)got;
	}
	*ret_data = TAKE_PTR(data.v);
	*ret_n = data.n;
	return 0;
}

void pprof_read_hint(const uint8_t *data, size_t n_bytes, struct err *e)
{
	static const char perf_magic[] = "PERFILE2"; /* tools/perf/util/header.c */
	if (!e || e->hint[0])
		return;
	if (n_bytes >= sizeof(perf_magic) - 1 &&
	    memcmp(data, perf_magic, sizeof(perf_magic) - 1) == 0)
		err_hint(e, "this is a recording of perf: 'cprof import FILE' turns it into a "
			 "profile");
	else
		err_hint(e, "a pprof profile is expected (profile.proto, gzipped or not)");
}

int profile_read_file(const char *path, struct profile **ret_profile, struct err *e)
{
	CLEANUP_FREE uint8_t *data = NULL;
	size_t n = 0;
	int r = profile_read_bytes(path, &data, &n);
	if (r < 0)
		return err_errno(e, -r, "cannot read '%s'", path);
	r = n > 0 ? profile_read(data, n, 0, ret_profile, e)
		     : err_set(e, EINVAL, "the file is empty");
	if (r < 0) {
		err_prefix(e, "cannot read '%s'", path);
		pprof_read_hint(data, n, e);
	}
	return r;
}

void profile_free(struct profile *p)
{
	if (p)
		arena_free(p->arena);
}
