/*
 * A first walk over a message counts its repeated fields; a second one reads them into arrays of
 * that size.  Most locations have one line, at their end, which needs no first walk.
 */

#include "proto/pprof-message.h"

#include "base/err.h"
#include "proto/pprof-read.h"

#include <errno.h>
#include <string.h>

int pprof_message_string(struct pprof_reader *reader, struct bytes body, size_t i)
{
	size_t n = bytes_left(&body);
	if (i == 0 && n != 0)
		return pprof_field_bad(reader, body.p, "string_table[0] that is not empty");
	char *s = PPROF_NEW(reader, char, n + 1);
	if (!s)
		return pprof_field_no_memory(reader);
	memcpy(s, body.p, n);
	reader->string[i] = s;
	return 0;
}

static int value_type(struct pprof_reader *reader, struct bytes body, struct profile_value_type *t)
{
	struct wire_field f;
	int got;
	*t = (struct profile_value_type){ "", "" };
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		switch (f.number) {
		case PPROF_VALUE_TYPE_TYPE:
			r = pprof_field_string(reader, &body, &f, &t->type);
			break;
		case PPROF_VALUE_TYPE_UNIT:
			r = pprof_field_string(reader, &body, &f, &t->unit);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

int pprof_message_sample_type(struct pprof_reader *reader, struct bytes body, size_t i)
{
	return value_type(reader, body, &reader->p->sample_type[i]);
}

int pprof_message_period_type(struct pprof_reader *reader, struct bytes body, size_t i)
{
	(void)i;  /* the last one wins, as for every field that is not repeated */
	return value_type(reader, body, &reader->p->period_type);
}

int pprof_message_mapping(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct profile_mapping *m = &reader->p->mapping[i];
	struct wire_field f;
	int got;
	m->filename = m->build_id = "";
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		switch (f.number) {
		case PPROF_MAPPING_ID: r = pprof_field_uint(reader, &body, &f, &m->id); break;
		case PPROF_MAPPING_MEMORY_START:
			r = pprof_field_uint(reader, &body, &f, &m->memory_start);
			break;
		case PPROF_MAPPING_MEMORY_LIMIT:
			r = pprof_field_uint(reader, &body, &f, &m->memory_limit);
			break;
		case PPROF_MAPPING_FILE_OFFSET:
			r = pprof_field_uint(reader, &body, &f, &m->file_offset);
			break;
		case PPROF_MAPPING_FILENAME:
			r = pprof_field_string(reader, &body, &f, &m->filename);
			break;
		case PPROF_MAPPING_BUILD_ID:
			r = pprof_field_string(reader, &body, &f, &m->build_id);
			break;
		case PPROF_MAPPING_HAS_FUNCTIONS:
			r = pprof_field_bool(reader, &body, &f, &m->has_functions);
			break;
		case PPROF_MAPPING_HAS_FILENAMES:
			r = pprof_field_bool(reader, &body, &f, &m->has_filenames);
			break;
		case PPROF_MAPPING_HAS_LINE_NUMBERS:
			r = pprof_field_bool(reader, &body, &f, &m->has_line_numbers);
			break;
		case PPROF_MAPPING_HAS_INLINE_FRAMES:
			r = pprof_field_bool(reader, &body, &f, &m->has_inline_frames);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

int pprof_message_function(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct profile_function *fn = &reader->p->function[i];
	struct wire_field f;
	int got;
	fn->name = fn->system_name = fn->filename = "";
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		switch (f.number) {
		case PPROF_FUNCTION_ID: r = pprof_field_uint(reader, &body, &f, &fn->id); break;
		case PPROF_FUNCTION_NAME:
			r = pprof_field_string(reader, &body, &f, &fn->name);
			break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			r = pprof_field_string(reader, &body, &f, &fn->system_name);
			break;
		case PPROF_FUNCTION_FILENAME:
			r = pprof_field_string(reader, &body, &f, &fn->filename);
			break;
		case PPROF_FUNCTION_START_LINE:
			r = pprof_field_int(reader, &body, &f, &fn->start_line);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

static int read_line(struct pprof_reader *reader, struct bytes body, struct profile_line *line)
{
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		uint64_t id = 0;
		switch (f.number) {
		case PPROF_LINE_FUNCTION_ID:
			r = pprof_field_uint(reader, &body, &f, &id);
			if (r < 0)
				return r;
			line->function = id ? pprof_ids_find(&reader->functions, id) : NULL;
			if (id && !line->function)
				return pprof_field_bad(reader, body.p,
						       "line with an unknown function, which ends");
			break;
		case PPROF_LINE_LINE: r = pprof_field_int(reader, &body, &f, &line->line); break;
		case PPROF_LINE_COLUMN:
			r = pprof_field_int(reader, &body, &f, &line->column);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

/* Reads a line, which is followed by `rest` of the location.  The first one makes room for all. */
static int add_line(struct pprof_reader *reader, struct profile_location *l, struct bytes line,
		    struct bytes rest)
{
	struct wire_field f;
	if (!l->line) {
		size_t n = 1;
		while (wire_next(&rest, &f) > 0)
			n += f.number == PPROF_LOCATION_LINE;
		l->line = PPROF_NEW(reader, struct profile_line, n);
		if (!l->line)
			return pprof_field_no_memory(reader);
	}
	return read_line(reader, line, &l->line[l->n_lines++]);
}

int pprof_message_location(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct profile_location *l = &reader->p->location[i];
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		uint64_t id = 0;
		struct bytes line;
		switch (f.number) {
		case PPROF_LOCATION_ID: r = pprof_field_uint(reader, &body, &f, &l->id); break;
		case PPROF_LOCATION_MAPPING_ID:
			r = pprof_field_uint(reader, &body, &f, &id);
			if (r < 0)
				return r;
			l->mapping = id ? pprof_ids_find(&reader->mappings, id) : NULL;
			if (id && !l->mapping)
				return pprof_field_bad(reader, body.p, "location in an unknown "
						       "mapping, which ends");
			break;
		case PPROF_LOCATION_ADDRESS:
			r = pprof_field_uint(reader, &body, &f, &l->address);
			break;
		case PPROF_LOCATION_IS_FOLDED:
			r = pprof_field_bool(reader, &body, &f, &l->is_folded);
			break;
		case PPROF_LOCATION_LINE:
			r = pprof_field_body(reader, &body, &f, &line);
			if (r < 0)
				return r;
			r = add_line(reader, l, line, body);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

int pprof_message_label(struct pprof_reader *reader, struct bytes body, struct profile_label *l)
{
	struct wire_field f;
	int got;
	l->key = l->num_unit = "";
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		switch (f.number) {
		case PPROF_LABEL_KEY: r = pprof_field_string(reader, &body, &f, &l->key); break;
		case PPROF_LABEL_STR:
			r = pprof_field_string(reader, &body, &f, &l->str);
			if (f.value == 0)
				l->str = NULL;
			break;
		case PPROF_LABEL_NUM: r = pprof_field_int(reader, &body, &f, &l->num); break;
		case PPROF_LABEL_NUM_UNIT:
			r = pprof_field_string(reader, &body, &f, &l->num_unit);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}

static int sample_numbers(struct pprof_reader *reader, struct profile_sample *s,
			  const struct wire_field *f, size_t *n_locations, size_t *n_values)
{
	struct pprof_numbers numbers = { 0 };
	uint64_t v = 0;
	int got;
	while ((got = pprof_field_number(reader, f, &numbers, &v)) > 0) {
		if (f->number == PPROF_SAMPLE_VALUE) {
			s->value[(*n_values)++] = (int64_t)v;
			continue;
		}
		const struct profile_location *l = pprof_ids_find(&reader->locations, v);
		if (!l)
			return err_set(reader->e, EINVAL,
				       "not a valid profile: sample %zu has the unknown "
				       "location %llu",
				       (size_t)(s - reader->p->sample) + 1, (unsigned long long)v);
		s->location[(*n_locations)++] = l;
	}
	return got;
}

int pprof_message_sample(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct profile_sample *s = &reader->p->sample[i];
	struct bytes again = body;
	struct wire_field f;
	size_t n_values = 0;
	int got;
	while ((got = pprof_field_next(reader, &again, &f)) > 0) {
		int r = 0;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
			r = pprof_field_count(reader, &again, &f, &s->n_locations);
			break;
		case PPROF_SAMPLE_VALUE:
			r = pprof_field_count(reader, &again, &f, &n_values);
			break;
		case PPROF_SAMPLE_LABEL: s->n_labels++; break;
		}
		if (r < 0)
			return r;
	}
	if (got < 0)
		return got;
	if (n_values != reader->p->n_sample_types)
		return err_set(reader->e, EINVAL,
			       "not a valid profile: sample %zu has %zu values for %zu "
			       "sample types",
			       i + 1, n_values, reader->p->n_sample_types);
	s->location = PPROF_NEW(reader, const struct profile_location *, s->n_locations);
	s->value = PPROF_NEW(reader, int64_t, n_values);
	s->label = PPROF_NEW(reader, struct profile_label, s->n_labels);
	if (!s->location || !s->value || !s->label)
		return pprof_field_no_memory(reader);
	size_t n_locations = 0, n_labels = 0;
	n_values = 0;
	while ((got = pprof_field_next(reader, &body, &f)) > 0) {
		int r = 0;
		struct bytes label;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
		case PPROF_SAMPLE_VALUE:
			r = sample_numbers(reader, s, &f, &n_locations, &n_values);
			break;
		case PPROF_SAMPLE_LABEL:
			r = pprof_field_body(reader, &body, &f, &label);
			if (r < 0)
				return r;
			r = pprof_message_label(reader, label, &s->label[n_labels++]);
			break;
		}
		if (r < 0)
			return r;
	}
	return got;
}
