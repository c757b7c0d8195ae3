/*
 * The file is walked once to count, so that every array is allocated once at
 * its size, and then once for each kind of message, in the order in which they refer to
 * each other: strings, mappings and functions, locations, samples.  Skipping the
 * other kinds touches only their headers.
 *
 * Ids may be any numbers.  Where they are 1, 2, 3 ..., as nearly all writers have
 * them, an id is an index; otherwise a hash table over the array is made.
 *
 * All results live in one arena, and refer to nothing outside it.
 */

#include "proto/pprof-read.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "proto/gzip.h"
#include "proto/pprof-tags.h"
#include "proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES_DEFAULT ((size_t)4 << 30)
#define MAX_ITEMS (1u << 30)
#define ARENA_BLOCK_BYTES (64u * 1024)

/* ---- arena ---------------------------------------------------------------- */

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

static void arena_free(struct arena_block *b)
{
	while (b) {
		struct arena_block *next = b->next;
		free(b);
		b = next;
	}
}

/* Zeroed memory for n items; NULL when memory is out.  Never NULL for n = 0. */
static void *arena_alloc(struct arena_block **head, size_t n, size_t item_bytes, size_t align)
{
	size_t size;
	if (__builtin_mul_overflow(n, item_bytes, &size) || size > SIZE_MAX / 2)
		return NULL;
	struct arena_block *b = *head;
	size_t used = b ? (b->used + align - 1) & ~(align - 1) : 0;
	if (!b || used > b->size || b->size - used < size) {
		size_t block_size = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		b = calloc(1, sizeof(*b) + block_size);
		if (!b)
			return NULL;
		b->size = block_size;
		b->next = *head;
		*head = b;
		used = 0;
	}
	b->used = used + size;
	return b->data + used;
}

/* ---- the reader's state --------------------------------------------------- */

/* From id to item; an item begins with its uint64_t id. */
struct id_map {
	const char *item;
	size_t item_bytes, n;
	uint32_t *slot;   /* open addressing: index + 1, 0 when free; NULL: id - 1 is the index */
	size_t n_slots;   /* a power of two */
};

struct reader {
	const uint8_t *start;
	struct bytes all;
	struct profile *p;
	struct arena_block *arena;
	size_t count[PPROF_PROFILE_N_TAGS];   /* messages or numbers of each field of Profile */
	size_t done[PPROF_PROFILE_N_TAGS];    /* of those, read so far */
	const char **string;
	size_t n_strings;
	struct id_map mappings, functions, locations;
	struct err *e;
};

#define ALLOC(r, T, n) ((T *)arena_alloc(&(r)->arena, (n), sizeof(T), _Alignof(T)))

static int no_memory(struct reader *r)
{
	return err_errno(r->e, ENOMEM, "cannot hold the profile");
}

/* at: where in the input it was seen. */
static int bad(struct reader *r, const uint8_t *at, const char *what)
{
	return err_set(r->e, EINVAL, "not a valid profile: %s at byte %zu", what,
		       (size_t)(at - r->start));
}

/* As wire_next, with -EINVAL and a message for what is malformed. */
static int next_field(struct reader *r, struct bytes *b, struct wire_field *f)
{
	int got = wire_next(b, f);
	return got < 0 ? bad(r, b->p, "malformed field") : got;
}

static int get_uint(struct reader *r, const struct bytes *at, const struct wire_field *f,
		    uint64_t *ret)
{
	if (f->type != WIRE_VARINT)
		return bad(r, at->p, "field of another type than a number just before");
	*ret = f->value;
	return 0;
}

static int get_int(struct reader *r, const struct bytes *at, const struct wire_field *f,
		   int64_t *ret)
{
	uint64_t v = 0;
	int code = get_uint(r, at, f, &v);
	if (code == 0)
		*ret = (int64_t)v;
	return code;
}

static int get_bool(struct reader *r, const struct bytes *at, const struct wire_field *f, bool *ret)
{
	uint64_t v = 0;
	int code = get_uint(r, at, f, &v);
	if (code == 0)
		*ret = v != 0;
	return code;
}

static int get_string(struct reader *r, const struct bytes *at, const struct wire_field *f,
		      const char **ret)
{
	uint64_t v = 0;
	int code = get_uint(r, at, f, &v);
	if (code < 0)
		return code;
	if (v >= r->n_strings)
		return bad(r, at->p, "reference to a string that does not exist just before");
	*ret = r->string[v];
	return 0;
}

static int get_body(struct reader *r, const struct bytes *at, const struct wire_field *f,
		    struct bytes *ret)
{
	if (f->type != WIRE_BYTES)
		return bad(r, at->p, "number where a message belongs just before");
	*ret = f->body;
	return 0;
}

/* How many numbers a field of a repeated number holds: packed or a single one. */
static int count_numbers(struct reader *r, const struct bytes *at, const struct wire_field *f,
			 size_t *n)
{
	if (f->type == WIRE_VARINT) {
		(*n)++;
		return 0;
	}
	if (f->type != WIRE_BYTES)
		return bad(r, at->p, "field of another type than numbers just before");
	for (const uint8_t *p = f->body.p; p < f->body.end; p++)
		*n += *p < 0x80;
	if (bytes_left(&f->body) > 0 && f->body.end[-1] >= 0x80)
		return bad(r, f->body.p, "cut off number in a packed field");
	return 0;
}

/* The next of those numbers: 1, or 0 when there is none left.  *state is a zeroed struct at first. */
struct number_reader { struct bytes left; bool begun; };

static int next_number(struct reader *r, const struct wire_field *f, struct number_reader *state,
		       uint64_t *ret)
{
	if (f->type == WIRE_VARINT) {
		*ret = f->value;
		return state->begun ? 0 : (state->begun = true);
	}
	if (!state->begun)
		*state = (struct number_reader){ .left = f->body, .begun = true };
	if (bytes_left(&state->left) == 0)
		return 0;
	*ret = wire_get_varint(&state->left);
	return state->left.bad ? bad(r, state->left.p, "number of more than ten bytes") : 1;
}

/* ---- ids ------------------------------------------------------------------ */

static uint64_t item_id(const struct id_map *m, size_t i)
{
	return *(const uint64_t *)(const void *)(m->item + i * m->item_bytes);
}

static const void *id_find(const struct id_map *m, uint64_t id)
{
	if (!m->slot)
		return id - 1 < m->n ? m->item + (id - 1) * m->item_bytes : NULL;
	for (size_t s = hash_u64(id) & (m->n_slots - 1); m->slot[s]; s = (s + 1) & (m->n_slots - 1))
		if (item_id(m, m->slot[s] - 1) == id)
			return m->item + (m->slot[s] - 1) * m->item_bytes;
	return NULL;
}

static int id_map_init(struct reader *r, struct id_map *m, const void *item, size_t item_bytes,
		       size_t n, const char *kind)
{
	*m = (struct id_map){ .item = item, .item_bytes = item_bytes, .n = n };
	size_t i = 0;
	while (i < n && item_id(m, i) == i + 1)
		i++;
	if (i == n)
		return 0;
	for (m->n_slots = 16; m->n_slots < 2 * n; m->n_slots *= 2)
		;
	m->slot = ALLOC(r, uint32_t, m->n_slots);
	if (!m->slot)
		return no_memory(r);
	for (i = 0; i < n; i++) {
		uint64_t id = item_id(m, i);
		if (id == 0)
			return err_set(r->e, EINVAL, "not a valid profile: %s %zu has the id 0 or none",
				       kind, i + 1);
		if (id_find(m, id))
			return err_set(r->e, EINVAL, "not a valid profile: two %ss have the id %llu",
				       kind, (unsigned long long)id);
		size_t s = hash_u64(id) & (m->n_slots - 1);
		while (m->slot[s])
			s = (s + 1) & (m->n_slots - 1);
		m->slot[s] = (uint32_t)i + 1;
	}
	return 0;
}

/* ---- messages ------------------------------------------------------------- */

/* Each of these reads the message in `body` as number i of its kind. */
typedef int read_message_fn(struct reader *r, struct bytes body, size_t i);

static int read_string(struct reader *r, struct bytes body, size_t i)
{
	size_t n = bytes_left(&body);
	if (i == 0 && n != 0)
		return bad(r, body.p, "string_table[0] that is not empty");
	char *s = ALLOC(r, char, n + 1);
	if (!s)
		return no_memory(r);
	memcpy(s, body.p, n);
	r->string[i] = s;
	return 0;
}

static int value_type(struct reader *r, struct bytes body, struct profile_value_type *t)
{
	struct wire_field f;
	int got;
	*t = (struct profile_value_type){ "", "" };
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_VALUE_TYPE_TYPE: code = get_string(r, &body, &f, &t->type); break;
		case PPROF_VALUE_TYPE_UNIT: code = get_string(r, &body, &f, &t->unit); break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int read_sample_type(struct reader *r, struct bytes body, size_t i)
{
	return value_type(r, body, &r->p->sample_type[i]);
}

static int read_period_type(struct reader *r, struct bytes body, size_t i)
{
	(void)i;  /* the last one counts, as for every field that is not repeated */
	return value_type(r, body, &r->p->period_type);
}

static int read_mapping(struct reader *r, struct bytes body, size_t i)
{
	struct profile_mapping *m = &r->p->mapping[i];
	struct wire_field f;
	int got;
	m->filename = m->build_id = "";
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_MAPPING_ID: code = get_uint(r, &body, &f, &m->id); break;
		case PPROF_MAPPING_MEMORY_START: code = get_uint(r, &body, &f, &m->memory_start); break;
		case PPROF_MAPPING_MEMORY_LIMIT: code = get_uint(r, &body, &f, &m->memory_limit); break;
		case PPROF_MAPPING_FILE_OFFSET: code = get_uint(r, &body, &f, &m->file_offset); break;
		case PPROF_MAPPING_FILENAME: code = get_string(r, &body, &f, &m->filename); break;
		case PPROF_MAPPING_BUILD_ID: code = get_string(r, &body, &f, &m->build_id); break;
		case PPROF_MAPPING_HAS_FUNCTIONS:
			code = get_bool(r, &body, &f, &m->has_functions);
			break;
		case PPROF_MAPPING_HAS_FILENAMES:
			code = get_bool(r, &body, &f, &m->has_filenames);
			break;
		case PPROF_MAPPING_HAS_LINE_NUMBERS:
			code = get_bool(r, &body, &f, &m->has_line_numbers);
			break;
		case PPROF_MAPPING_HAS_INLINE_FRAMES:
			code = get_bool(r, &body, &f, &m->has_inline_frames);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int read_function(struct reader *r, struct bytes body, size_t i)
{
	struct profile_function *fn = &r->p->function[i];
	struct wire_field f;
	int got;
	fn->name = fn->system_name = fn->filename = "";
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_FUNCTION_ID: code = get_uint(r, &body, &f, &fn->id); break;
		case PPROF_FUNCTION_NAME: code = get_string(r, &body, &f, &fn->name); break;
		case PPROF_FUNCTION_SYSTEM_NAME:
			code = get_string(r, &body, &f, &fn->system_name);
			break;
		case PPROF_FUNCTION_FILENAME: code = get_string(r, &body, &f, &fn->filename); break;
		case PPROF_FUNCTION_START_LINE: code = get_int(r, &body, &f, &fn->start_line); break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int read_line(struct reader *r, struct bytes body, struct profile_line *line)
{
	struct wire_field f;
	int got;
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		uint64_t id = 0;
		switch (f.number) {
		case PPROF_LINE_FUNCTION_ID:
			code = get_uint(r, &body, &f, &id);
			line->function = id ? id_find(&r->functions, id) : NULL;
			if (code == 0 && id && !line->function)
				code = bad(r, body.p, "line with an unknown function just before");
			break;
		case PPROF_LINE_LINE: code = get_int(r, &body, &f, &line->line); break;
		case PPROF_LINE_COLUMN: code = get_int(r, &body, &f, &line->column); break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int read_location(struct reader *r, struct bytes body, size_t i)
{
	struct profile_location *l = &r->p->location[i];
	struct bytes again = body;
	struct wire_field f;
	int got;
	while ((got = next_field(r, &again, &f)) > 0)
		l->n_lines += f.number == PPROF_LOCATION_LINE;
	l->line = ALLOC(r, struct profile_line, l->n_lines);
	if (!l->line)
		return no_memory(r);
	size_t n_lines = 0;
	while (got == 0 && (got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		uint64_t id = 0;
		struct bytes line;
		switch (f.number) {
		case PPROF_LOCATION_ID: code = get_uint(r, &body, &f, &l->id); break;
		case PPROF_LOCATION_MAPPING_ID:
			code = get_uint(r, &body, &f, &id);
			l->mapping = id ? id_find(&r->mappings, id) : NULL;
			if (code == 0 && id && !l->mapping)
				code = bad(r, body.p, "location in an unknown mapping just before");
			break;
		case PPROF_LOCATION_ADDRESS: code = get_uint(r, &body, &f, &l->address); break;
		case PPROF_LOCATION_IS_FOLDED: code = get_bool(r, &body, &f, &l->is_folded); break;
		case PPROF_LOCATION_LINE:
			code = get_body(r, &body, &f, &line);
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

static int read_label(struct reader *r, struct bytes body, struct profile_label *l)
{
	struct wire_field f;
	int got;
	l->key = l->num_unit = "";
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_LABEL_KEY: code = get_string(r, &body, &f, &l->key); break;
		case PPROF_LABEL_STR:
			code = get_string(r, &body, &f, &l->str);
			if (f.value == 0)
				l->str = NULL;
			break;
		case PPROF_LABEL_NUM: code = get_int(r, &body, &f, &l->num); break;
		case PPROF_LABEL_NUM_UNIT: code = get_string(r, &body, &f, &l->num_unit); break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int sample_numbers(struct reader *r, struct profile_sample *s, const struct wire_field *f,
			  size_t *n_locations, size_t *n_values)
{
	struct number_reader numbers = { 0 };
	uint64_t v = 0;
	int got;
	while ((got = next_number(r, f, &numbers, &v)) > 0) {
		if (f->number == PPROF_SAMPLE_VALUE) {
			s->value[(*n_values)++] = (int64_t)v;
			continue;
		}
		const struct profile_location *l = id_find(&r->locations, v);
		if (!l)
			return err_set(r->e, EINVAL, "not a valid profile: sample %zu has the unknown "
				       "location %llu", (size_t)(s - r->p->sample) + 1,
				       (unsigned long long)v);
		s->location[(*n_locations)++] = l;
	}
	return got;
}

static int read_sample(struct reader *r, struct bytes body, size_t i)
{
	struct profile_sample *s = &r->p->sample[i];
	struct bytes again = body;
	struct wire_field f;
	size_t n_values = 0;
	int got;
	while ((got = next_field(r, &again, &f)) > 0) {
		int code = 0;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
			code = count_numbers(r, &again, &f, &s->n_locations);
			break;
		case PPROF_SAMPLE_VALUE: code = count_numbers(r, &again, &f, &n_values); break;
		case PPROF_SAMPLE_LABEL: s->n_labels++; break;
		}
		if (code < 0)
			return code;
	}
	if (got < 0)
		return got;
	if (n_values != r->p->n_sample_types)
		return err_set(r->e, EINVAL, "not a valid profile: sample %zu has %zu values for %zu "
			       "sample types", i + 1, n_values, r->p->n_sample_types);
	s->location = ALLOC(r, const struct profile_location *, s->n_locations);
	s->value = ALLOC(r, int64_t, n_values);
	s->label = ALLOC(r, struct profile_label, s->n_labels);
	if (!s->location || !s->value || !s->label)
		return no_memory(r);
	size_t n_locations = 0, n_labels = 0;
	n_values = 0;
	while ((got = next_field(r, &body, &f)) > 0) {
		int code = 0;
		struct bytes label;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
		case PPROF_SAMPLE_VALUE:
			code = sample_numbers(r, s, &f, &n_locations, &n_values);
			break;
		case PPROF_SAMPLE_LABEL:
			code = get_body(r, &body, &f, &label);
			if (code == 0)
				code = read_label(r, label, &s->label[n_labels++]);
			break;
		}
		if (code < 0)
			return code;
	}
	return got;
}

/* ---- the profile ---------------------------------------------------------- */

static int count_all(struct reader *r)
{
	struct bytes b = r->all;
	struct wire_field f;
	int got;
	while ((got = next_field(r, &b, &f)) > 0) {
		if (f.number >= PPROF_PROFILE_N_TAGS)
			continue;
		int code = 0;
		if (f.number == PPROF_PROFILE_COMMENT)
			code = count_numbers(r, &b, &f, &r->count[f.number]);
		else
			r->count[f.number]++;
		if (code < 0)
			return code;
		if (r->count[f.number] > MAX_ITEMS)
			return err_set(r->e, E2BIG, "a profile of more than %u items", MAX_ITEMS);
	}
	return got;
}

static int read_kind(struct reader *r, unsigned int field, read_message_fn *read_message)
{
	struct bytes b = r->all;
	struct wire_field f;
	int got;
	while ((got = next_field(r, &b, &f)) > 0) {
		if (f.number != field)
			continue;
		struct bytes body;
		int code = get_body(r, &b, &f, &body);
		if (code == 0)
			code = read_message(r, body, r->done[field]++);
		if (code < 0)
			return code;
	}
	return got;
}

static int read_scalars(struct reader *r)
{
	struct profile *p = r->p;
	struct bytes b = r->all;
	struct wire_field f;
	int got;
	while ((got = next_field(r, &b, &f)) > 0) {
		int code = 0;
		struct number_reader numbers = { 0 };
		switch (f.number) {
		case PPROF_PROFILE_DROP_FRAMES: code = get_string(r, &b, &f, &p->drop_frames); break;
		case PPROF_PROFILE_KEEP_FRAMES: code = get_string(r, &b, &f, &p->keep_frames); break;
		case PPROF_PROFILE_DOC_URL: code = get_string(r, &b, &f, &p->doc_url); break;
		case PPROF_PROFILE_TIME_NANOS: code = get_int(r, &b, &f, &p->time_nanos); break;
		case PPROF_PROFILE_DURATION_NANOS:
			code = get_int(r, &b, &f, &p->duration_nanos);
			break;
		case PPROF_PROFILE_PERIOD: code = get_int(r, &b, &f, &p->period); break;
		case PPROF_PROFILE_DEFAULT_SAMPLE_TYPE:
			code = get_string(r, &b, &f, &p->default_sample_type);
			break;
		case PPROF_PROFILE_COMMENT: {
			struct wire_field one = { .type = WIRE_VARINT };
			while (code == 0 && (got = next_number(r, &f, &numbers, &one.value)) != 0)
				code = got < 0 ? got : get_string(r, &b, &one,
								  &p->comment[p->n_comments++]);
			break;
		}
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int allocate(struct reader *r)
{
	struct profile *p = r->p;
	p->n_strings = r->n_strings = r->count[PPROF_PROFILE_STRING_TABLE];
	p->n_sample_types = r->count[PPROF_PROFILE_SAMPLE_TYPE];
	p->n_samples = r->count[PPROF_PROFILE_SAMPLE];
	p->n_mappings = r->count[PPROF_PROFILE_MAPPING];
	p->n_locations = r->count[PPROF_PROFILE_LOCATION];
	p->n_functions = r->count[PPROF_PROFILE_FUNCTION];
	p->string = r->string = ALLOC(r, const char *, p->n_strings);
	p->sample_type = ALLOC(r, struct profile_value_type, p->n_sample_types);
	p->sample = ALLOC(r, struct profile_sample, p->n_samples);
	p->mapping = ALLOC(r, struct profile_mapping, p->n_mappings);
	p->location = ALLOC(r, struct profile_location, p->n_locations);
	p->function = ALLOC(r, struct profile_function, p->n_functions);
	p->comment = ALLOC(r, const char *, r->count[PPROF_PROFILE_COMMENT]);
	if (!p->string || !p->sample_type || !p->sample || !p->mapping || !p->location ||
	    !p->function || !p->comment)
		return no_memory(r);
	return 0;
}

static int read_all(struct reader *r)
{
	int code = count_all(r);
	if (code < 0)
		return code;
	if (r->count[PPROF_PROFILE_STRING_TABLE] == 0)
		return err_set(r->e, EINVAL, "not a valid profile: it has no string table");
	if (!(r->p = ALLOC(r, struct profile, 1)))
		return no_memory(r);
	struct profile *p = r->p;
	p->default_sample_type = p->drop_frames = p->keep_frames = p->doc_url = "";
	p->period_type = (struct profile_value_type){ "", "" };
	if ((code = allocate(r)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_STRING_TABLE, read_string)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_SAMPLE_TYPE, read_sample_type)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_PERIOD_TYPE, read_period_type)) < 0 ||
	    (code = read_scalars(r)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_MAPPING, read_mapping)) < 0 ||
	    (code = id_map_init(r, &r->mappings, p->mapping, sizeof(*p->mapping),
				p->n_mappings, "mapping")) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_FUNCTION, read_function)) < 0 ||
	    (code = id_map_init(r, &r->functions, p->function, sizeof(*p->function),
				p->n_functions, "function")) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_LOCATION, read_location)) < 0 ||
	    (code = id_map_init(r, &r->locations, p->location, sizeof(*p->location),
				p->n_locations, "location")) < 0)
		return code;
	return read_kind(r, PPROF_PROFILE_SAMPLE, read_sample);
}

int profile_read(const void *data, size_t n_bytes, size_t max_bytes, struct profile **ret_profile,
		 struct err *e)
{
	CLEANUP_FREE uint8_t *inflated = NULL;
	if (max_bytes == 0 || max_bytes > SIZE_MAX / 2)
		max_bytes = MAX_BYTES_DEFAULT;
	if (gzip_is(data, n_bytes)) {
		int code = gzip_inflate(data, n_bytes, max_bytes, &inflated, &n_bytes, e);
		if (code < 0)
			return code;
		data = inflated;
	} else if (n_bytes > max_bytes) {
		return err_set(e, E2BIG, "a profile of more than %zu bytes", max_bytes);
	}
	struct reader r = { .start = data, .all = bytes_of(data, n_bytes), .e = e };
	int code = read_all(&r);
	if (code < 0) {
		arena_free(r.arena);
		return code;
	}
	r.p->arena = r.arena;
	*ret_profile = r.p;
	return 0;
}

static int read_whole(const char *path, uint8_t **ret_data, size_t *ret_n)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	CLEANUP_FREE uint8_t *data = NULL;
	size_t n = 0, cap = 0;
	for (;;) {
		if (n == cap) {
			if (cap > MAX_BYTES_DEFAULT)
				return -EFBIG;
			cap = cap ? cap * 2 : 64 * 1024;
			uint8_t *more = realloc(data, cap);
			if (!more)
				return -ENOMEM;
			data = more;
		}
		ssize_t got = read(fd, data + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret_data = TAKE_PTR(data);
	*ret_n = n;
	return 0;
}

int profile_read_file(const char *path, struct profile **ret_profile, struct err *e)
{
	CLEANUP_FREE uint8_t *data = NULL;
	size_t n = 0;
	int code = read_whole(path, &data, &n);
	if (code < 0)
		return err_errno(e, -code, "cannot read '%s'", path);
	code = n > 0 ? profile_read(data, n, 0, ret_profile, e)
		     : err_set(e, EINVAL, "the file is empty");
	if (code < 0) {
		err_prefix(e, "cannot read '%s'", path);
		err_hint(e, "a pprof profile is expected (profile.proto, gzipped or not)");
	}
	return code;
}

void profile_free(struct profile *p)
{
	if (p)
		arena_free(p->arena);
}
