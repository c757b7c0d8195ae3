/*
 * These messages consist of numbers, nearly all of them with a tag of one byte.  Such a number is
 * read here; everything else, and everything that is wrong, by wire_next.
 */

#include "proto/pprof-tables.h"

#include "base/err.h"
#include "proto/pprof-message.h"
#include "proto/pprof-read.h"

#include <errno.h>

/* False, with nothing read, if the next field is not such a number. */
static inline bool quick_number(struct bytes *b, unsigned int *ret_number, uint64_t *ret)
{
	const uint8_t *p = b->p, *end = b->end;
	if (end - p < 2 || p[0] < 8 || (p[0] & 0x87) != WIRE_VARINT)
		return false;
	*ret_number = p[0] >> 3;
	if (p[1] < 0x80) {
		*ret = p[1];
		b->p = p + 2;
		return true;
	}
	uint64_t value = p[1] & 0x7f;
	p += 2;
	for (unsigned int shift = 7; p[-1] & 0x80; shift += 7) {
		if (p == end || shift > 63)
			return false;
		value |= (uint64_t)(*p++ & 0x7f) << shift;
	}
	*ret = value;
	b->p = p;
	return true;
}

/* The next field: 1, with 0 as *ret_number for one that has no meaning; 0 at the end.  n_known: the
 * fields below this number are numbers. */
static __attribute__((noinline)) int slow_number(struct pprof_reader *reader, struct bytes *b,
						 unsigned int n_known, unsigned int *ret_number,
						 uint64_t *ret)
{
	struct wire_field f;
	int got = pprof_field_next(reader, b, &f);
	if (got <= 0)
		return got;
	*ret_number = f.number < n_known ? f.number : 0;
	int r = *ret_number ? pprof_field_uint(reader, b, &f, ret) : 0;
	return r < 0 ? r : 1;
}

static inline int next_number(struct pprof_reader *reader, struct bytes *b, unsigned int n_known,
			      unsigned int *ret_number, uint64_t *ret)
{
	if (quick_number(b, ret_number, ret))
		return 1;
	if (bytes_left(b) == 0)
		return 0;
	return slow_number(reader, b, n_known, ret_number, ret);
}

static int bad_string(struct pprof_reader *reader, const struct bytes *at)
{
	return pprof_field_bad(reader, at->p,
			       "reference to a string that does not exist, which ends");
}

int pprof_tables_string(struct pprof_reader *reader, struct bytes body, size_t i)
{
	size_t n = bytes_left(&body);
	if (i == 0 && n != 0)
		return pprof_field_bad(reader, body.p, "string_table[0] that is not empty");
	reader->tables->text[i] = strtab_text_of((const char *)body.p, n);
	return 0;
}

int pprof_tables_function(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct pprof_function_row row = { 0 };
	uint64_t id = 0, value = 0;
	unsigned int number = 0;
	int got;
	while ((got = next_number(reader, &body, PPROF_FUNCTION_START_LINE + 1, &number,
				  &value)) > 0) {
		bool is_string = false;
		switch (number) {
		case PPROF_FUNCTION_ID: id = value; break;
		case PPROF_FUNCTION_NAME:
			row.name = (uint32_t)value;
			is_string = true;
			break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			row.system_name = (uint32_t)value;
			is_string = true;
			break;
		case PPROF_FUNCTION_FILENAME:
			row.filename = (uint32_t)value;
			is_string = true;
			break;
		case PPROF_FUNCTION_START_LINE: row.start_line = (int64_t)value; break;
		}
		if (is_string && value >= reader->n_strings)
			return bad_string(reader, &body);
	}
	reader->tables->function[i] = row;
	reader->tables->function_id[i] = id;
	return got;
}

static int read_line(struct pprof_reader *reader, struct bytes body, struct pprof_line_row *line)
{
	uint64_t value = 0;
	unsigned int number = 0;
	int got;
	while ((got = next_number(reader, &body, PPROF_LINE_COLUMN + 1, &number, &value)) > 0) {
		switch (number) {
		case PPROF_LINE_FUNCTION_ID:
			line->function = value ? pprof_ids_index(&reader->functions, value)
					       : PPROF_NO_INDEX;
			if (value && line->function == PPROF_NO_INDEX)
				return pprof_field_bad(reader, body.p,
						       "line with an unknown function, which ends");
			break;
		case PPROF_LINE_LINE: line->line = (int64_t)value; break;
		case PPROF_LINE_COLUMN: line->column = (int64_t)value; break;
		}
	}
	return got;
}

static int add_line(struct pprof_reader *reader, struct bytes body)
{
	struct pprof_tables *t = reader->tables;
	struct pprof_line_row line = { .function = PPROF_NO_INDEX };
	int r = read_line(reader, body, &line);
	if (r < 0)
		return r;
	/* an array that grows may take twice as much */
	reader->is_too_large = t->lines.n >= PPROF_TABLES_BYTES_MAX / 2 / sizeof(line);
	return !reader->is_too_large && VEC_PUSH(&t->lines, line) ? 0
								   : pprof_field_no_memory(reader);
}

/* The next field if it is a line with a length of one byte. */
static inline bool quick_line(struct bytes *b, struct bytes *ret_line)
{
	const uint8_t *p = b->p;
	if (b->end - p < 2 || p[0] != (PPROF_LOCATION_LINE << 3 | WIRE_BYTES) || p[1] >= 0x80 ||
	    b->end - p - 2 < p[1])
		return false;
	*ret_line = bytes_of(p + 2, p[1]);
	b->p = p + 2 + p[1];
	return true;
}

/* Reads a line or another field of a location, of any type; *is_end: there was none. */
static int read_other(struct pprof_reader *reader, struct bytes *body, unsigned int *ret_number,
		      uint64_t *ret, bool *is_end)
{
	struct wire_field f;
	struct bytes line;
	*ret_number = 0;
	if (quick_line(body, &line))
		return add_line(reader, line);
	int got = pprof_field_next(reader, body, &f);
	*is_end = got <= 0;
	if (got <= 0)
		return got;
	if (f.number == PPROF_LOCATION_LINE) {
		int r = pprof_field_body(reader, body, &f, &line);
		return r < 0 ? r : add_line(reader, line);
	}
	if (f.number > PPROF_LOCATION_IS_FOLDED)
		return 0;
	*ret_number = f.number;
	return pprof_field_uint(reader, body, &f, ret);
}

int pprof_tables_location(struct pprof_reader *reader, struct bytes body, size_t i)
{
	struct pprof_tables *t = reader->tables;
	struct pprof_location_row row = { .mapping = PPROF_NO_INDEX };
	uint64_t id = 0, value = 0;
	size_t first = t->lines.n;
	for (bool is_end = false; !is_end && bytes_left(&body) > 0;) {
		unsigned int number = 0;
		int r = quick_number(&body, &number, &value)
				? 0 : read_other(reader, &body, &number, &value, &is_end);
		if (r < 0)
			return r;
		switch (number) {
		case PPROF_LOCATION_ID: id = value; break;
		case PPROF_LOCATION_MAPPING_ID:
			row.mapping = value ? pprof_ids_index(&reader->mappings, value)
					    : PPROF_NO_INDEX;
			if (value && row.mapping == PPROF_NO_INDEX)
				return pprof_field_bad(reader, body.p, "location in an unknown "
						       "mapping, which ends");
			break;
		case PPROF_LOCATION_ADDRESS: row.address = value; break;
		case PPROF_LOCATION_LINE:  /* as a number */
			return pprof_field_bad(reader, body.p,
					       "number where a message belongs, which ends");
		case PPROF_LOCATION_IS_FOLDED: row.is_folded = value != 0; break;
		}
	}
	row.first_line = (uint32_t)first;
	row.n_lines = (uint32_t)(t->lines.n - first);
	t->location[i] = row;
	t->location_id[i] = id;
	return 0;
}
