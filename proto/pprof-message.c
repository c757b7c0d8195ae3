/*
 * A first walk over a message counts its repeated fields; a second one reads them into arrays of
 * that size.
 */

#include "proto/pprof-message.h"

#include "base/err.h"
#include "proto/pprof-read.h"

#include <errno.h>
#include <string.h>

int pprof_message_string(struct pprof_reader *r, struct bytes body, size_t i)
{
	size_t n = bytes_left(&body);
	if (i == 0 && n != 0)
		return pprof_field_bad(r, body.p, "string_table[0] that is not empty");
	char *s = ARENA_NEW(&r->arena, char, n + 1);
	if (!s)
		return pprof_field_no_memory(r);
	memcpy(s, body.p, n);
	r->string[i] = s;
	return 0;
}

static int value_type(struct pprof_reader *r, struct bytes body, struct profile_value_type *t)
{
	struct wire_field f;
	int got;
	*t = (struct profile_value_type){ "", "" };
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_VALUE_TYPE_TYPE:
			code = pprof_field_string(r, &body, &f, &t->type);
			break;
		case PPROF_VALUE_TYPE_UNIT:
			code = pprof_field_string(r, &body, &f, &t->unit);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

int pprof_message_sample_type(struct pprof_reader *r, struct bytes body, size_t i)
{
	return value_type(r, body, &r->p->sample_type[i]);
}

int pprof_message_period_type(struct pprof_reader *r, struct bytes body, size_t i)
{
	(void)i;  /* the last one wins, as for every field that is not repeated */
	return value_type(r, body, &r->p->period_type);
}

int pprof_message_mapping(struct pprof_reader *r, struct bytes body, size_t i)
{
	struct profile_mapping *m = &r->p->mapping[i];
	struct wire_field f;
	int got;
	m->filename = m->build_id = "";
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_MAPPING_ID: code = pprof_field_uint(r, &body, &f, &m->id); break;
		case PPROF_MAPPING_MEMORY_START:
			code = pprof_field_uint(r, &body, &f, &m->memory_start);
			break;
		case PPROF_MAPPING_MEMORY_LIMIT:
			code = pprof_field_uint(r, &body, &f, &m->memory_limit);
			break;
		case PPROF_MAPPING_FILE_OFFSET:
			code = pprof_field_uint(r, &body, &f, &m->file_offset);
			break;
		case PPROF_MAPPING_FILENAME:
			code = pprof_field_string(r, &body, &f, &m->filename);
			break;
		case PPROF_MAPPING_BUILD_ID:
			code = pprof_field_string(r, &body, &f, &m->build_id);
			break;
		case PPROF_MAPPING_HAS_FUNCTIONS:
			code = pprof_field_bool(r, &body, &f, &m->has_functions);
			break;
		case PPROF_MAPPING_HAS_FILENAMES:
			code = pprof_field_bool(r, &body, &f, &m->has_filenames);
			break;
		case PPROF_MAPPING_HAS_LINE_NUMBERS:
			code = pprof_field_bool(r, &body, &f, &m->has_line_numbers);
			break;
		case PPROF_MAPPING_HAS_INLINE_FRAMES:
			code = pprof_field_bool(r, &body, &f, &m->has_inline_frames);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

int pprof_message_function(struct pprof_reader *r, struct bytes body, size_t i)
{
	struct profile_function *fn = &r->p->function[i];
	struct wire_field f;
	int got;
	fn->name = fn->system_name = fn->filename = "";
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_FUNCTION_ID: code = pprof_field_uint(r, &body, &f, &fn->id); break;
		case PPROF_FUNCTION_NAME: code = pprof_field_string(r, &body, &f, &fn->name); break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			code = pprof_field_string(r, &body, &f, &fn->system_name);
			break;
		case PPROF_FUNCTION_FILENAME:
			code = pprof_field_string(r, &body, &f, &fn->filename);
			break;
		case PPROF_FUNCTION_START_LINE:
			code = pprof_field_int(r, &body, &f, &fn->start_line);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int read_line(struct pprof_reader *r, struct bytes body, struct profile_line *line)
{
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		uint64_t id = 0;
		switch (f.number) {
		case PPROF_LINE_FUNCTION_ID:
			code = pprof_field_uint(r, &body, &f, &id);
			line->function = id ? pprof_ids_find(&r->functions, id) : NULL;
			if (code == 0 && id && !line->function)
				code = pprof_field_bad(r, body.p,
						       "line with an unknown function just before");
			break;
		case PPROF_LINE_LINE: code = pprof_field_int(r, &body, &f, &line->line); break;
		case PPROF_LINE_COLUMN: code = pprof_field_int(r, &body, &f, &line->column); break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

int pprof_message_location(struct pprof_reader *r, struct bytes body, size_t i)
{
	struct profile_location *l = &r->p->location[i];
	struct bytes again = body;
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(r, &again, &f)) > 0)
		l->n_lines += f.number == PPROF_LOCATION_LINE;
	l->line = ARENA_NEW(&r->arena, struct profile_line, l->n_lines);
	if (!l->line)
		return pprof_field_no_memory(r);
	size_t n_lines = 0;
	while (got == 0 && (got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		uint64_t id = 0;
		struct bytes line;
		switch (f.number) {
		case PPROF_LOCATION_ID: code = pprof_field_uint(r, &body, &f, &l->id); break;
		case PPROF_LOCATION_MAPPING_ID:
			code = pprof_field_uint(r, &body, &f, &id);
			l->mapping = id ? pprof_ids_find(&r->mappings, id) : NULL;
			if (code == 0 && id && !l->mapping)
				code = pprof_field_bad(
					r, body.p, "location in an unknown mapping just before");
			break;
		case PPROF_LOCATION_ADDRESS:
			code = pprof_field_uint(r, &body, &f, &l->address);
			break;
		case PPROF_LOCATION_IS_FOLDED:
			code = pprof_field_bool(r, &body, &f, &l->is_folded);
			break;
		case PPROF_LOCATION_LINE:
			code = pprof_field_body(r, &body, &f, &line);
			if (code == 0)
				code = read_line(r, line, &l->line[n_lines++]);
			break;
		}
		if (code < 0)
			return code;
		got = 0;
	}
	return got;
}

int pprof_message_label(struct pprof_reader *r, struct bytes body, struct profile_label *l)
{
	struct wire_field f;
	int got;
	l->key = l->num_unit = "";
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_LABEL_KEY: code = pprof_field_string(r, &body, &f, &l->key); break;
		case PPROF_LABEL_STR:
			code = pprof_field_string(r, &body, &f, &l->str);
			if (f.value == 0)
				l->str = NULL;
			break;
		case PPROF_LABEL_NUM: code = pprof_field_int(r, &body, &f, &l->num); break;
		case PPROF_LABEL_NUM_UNIT:
			code = pprof_field_string(r, &body, &f, &l->num_unit);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int sample_numbers(struct pprof_reader *r, struct profile_sample *s,
			  const struct wire_field *f, size_t *n_locations, size_t *n_values)
{
	struct pprof_numbers numbers = { 0 };
	uint64_t v = 0;
	int got;
	while ((got = pprof_field_number(r, f, &numbers, &v)) > 0) {
		if (f->number == PPROF_SAMPLE_VALUE) {
			s->value[(*n_values)++] = (int64_t)v;
			continue;
		}
		const struct profile_location *l = pprof_ids_find(&r->locations, v);
		if (!l)
			return err_set(r->e, EINVAL,
				       "not a valid profile: sample %zu has the unknown "
				       "location %llu",
				       (size_t)(s - r->p->sample) + 1, (unsigned long long)v);
		s->location[(*n_locations)++] = l;
	}
	return got;
}

int pprof_message_sample(struct pprof_reader *r, struct bytes body, size_t i)
{
	struct profile_sample *s = &r->p->sample[i];
	struct bytes again = body;
	struct wire_field f;
	size_t n_values = 0;
	int got;
	while ((got = pprof_field_next(r, &again, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
			code = pprof_field_count(r, &again, &f, &s->n_locations);
			break;
		case PPROF_SAMPLE_VALUE: code = pprof_field_count(r, &again, &f, &n_values); break;
		case PPROF_SAMPLE_LABEL: s->n_labels++; break;
		}
		if (code < 0)
			return code;
	}
	if (got < 0)
		return got;
	if (n_values != r->p->n_sample_types)
		return err_set(r->e, EINVAL,
			       "not a valid profile: sample %zu has %zu values for %zu "
			       "sample types",
			       i + 1, n_values, r->p->n_sample_types);
	s->location = ARENA_NEW(&r->arena, const struct profile_location *, s->n_locations);
	s->value = ARENA_NEW(&r->arena, int64_t, n_values);
	s->label = ARENA_NEW(&r->arena, struct profile_label, s->n_labels);
	if (!s->location || !s->value || !s->label)
		return pprof_field_no_memory(r);
	size_t n_locations = 0, n_labels = 0;
	n_values = 0;
	while ((got = pprof_field_next(r, &body, &f)) > 0) {
		int code = 0;
		struct bytes label;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
		case PPROF_SAMPLE_VALUE:
			code = sample_numbers(r, s, &f, &n_locations, &n_values);
			break;
		case PPROF_SAMPLE_LABEL:
			code = pprof_field_body(r, &body, &f, &label);
			if (code == 0)
				code = pprof_message_label(r, label, &s->label[n_labels++]);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}
