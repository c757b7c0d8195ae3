/*
 * Every message of the dictionary is encoded first and then looked up by its bytes, so that equal
 * ones of several profiles have one entry.  The numbers of fields are those of profiles.proto.
 */

#include "proto/otlp.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "proto/gzip.h"
#include "proto/otlp-table.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2,
	RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2,
	SCOPE_NAME = 1, SCOPE_VERSION = 2,
	KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2,
	ANY_STRING = 1, ANY_INT = 3,
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES = 2, PROFILE_TIME = 3, PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5, PROFILE_PERIOD = 6, PROFILE_ID = 7,
	VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2,
	SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4,
	MAPPING_START = 1, MAPPING_LIMIT = 2, MAPPING_OFFSET = 3, MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
	LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2, LINE_COLUMN = 3,
	FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILENAME = 3,
	FUNCTION_START_LINE = 4,
	STACK_LOCATIONS = 1,
	ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, ATTRIBUTE_UNIT = 3,
};

/* In the order of their fields in ProfilesDictionary, from 1 on. */
enum { T_MAPPING, T_LOCATION, T_FUNCTION, T_LINK, T_STRING, T_ATTRIBUTE, T_STACK, N_TABLES };

struct otlp {
	struct otlp_table table[N_TABLES];
	struct wire resources;   /* the finished ResourceProfiles of the request */
	struct wire scratch;     /* one message of the dictionary */
	struct wire text;        /* one string as UTF-8 */
	VEC(uint64_t) ids;       /* of the attributes or locations of one message */
	VEC(uint32_t) mapping, location;   /* of one profile, by index: the entry in our tables */
};

/* Labels of cprof and the attributes that OpenTelemetry's conventions have for them. */
static const struct { const char *label, *attribute; bool is_number; } convention[] = {
	{ "pid", "process.pid", true },
	{ "tid", "thread.id", true },
	{ "thread_name", "thread.name", false },
	{ "process_name", "process.executable.name", false },
	{ "container_id", "container.id", false },
};

/* The kinds of frames that OpenTelemetry's conventions know, by the names of mappings. */
static const struct { const char *prefix, *kind; } frame_kind[] = {
	{ "[kernel", "kernel" }, { "[python", "cpython" }, { "[php", "php" }, { "[ruby", "ruby" },
	{ "[", NULL },
};

struct otlp *otlp_new(void)
{
	return calloc(1, sizeof(struct otlp));
}

static void clear(struct otlp *o)
{
	for (size_t i = 0; i < N_TABLES; i++)
		otlp_table_done(&o->table[i]);
	memset(o->table, 0, sizeof(o->table));
	wire_done(&o->resources);
}

void otlp_free(struct otlp *o)
{
	if (!o)
		return;
	clear(o);
	wire_done(&o->scratch);
	wire_done(&o->text);
	VEC_FREE(&o->ids);
	VEC_FREE(&o->mapping);
	VEC_FREE(&o->location);
	free(o);
}

static uint32_t add_scratch(struct otlp *o, unsigned int table)
{
	if (o->scratch.failed)
		o->table[table].failed = true;
	return otlp_table_add(&o->table[table], o->scratch.p, o->scratch.n);
}

static uint32_t add_string(struct otlp *o, const char *s)
{
	size_t n = strlen(s);
	if (utf8_valid_prefix(s, n) == n)
		return otlp_table_add(&o->table[T_STRING], s, n);
	o->text.n = 0;
	if (!wire_reserve(&o->text, UTF8_CLEAN_MAX(n))) {
		o->table[T_STRING].failed = true;
		return 0;
	}
	n = utf8_clean((char *)o->text.p, s, n);
	return otlp_table_add(&o->table[T_STRING], o->text.p, n);
}

static void push_id(struct otlp *o, uint64_t id)
{
	if (!VEC_PUSH(&o->ids, id))
		o->scratch.failed = true;
}

/* ---- attributes ---------------------------------------------------------------------- */

static uint32_t add_text_attribute(struct otlp *o, const char *key, const char *value)
{
	uint32_t k = add_string(o, key), v = add_string(o, value);
	const struct otlp_table *t = &o->table[T_STRING];
	o->scratch.n = 0;
	wire_uint(&o->scratch, ATTRIBUTE_KEY, k);
	size_t mark = wire_begin(&o->scratch, ATTRIBUTE_VALUE);
	/* the same text as valid UTF-8 */
	wire_bytes(&o->scratch, ANY_STRING, v ? t->bytes.p + t->entry.v[v - 1].at : NULL,
		   v ? t->entry.v[v - 1].n : 0);
	wire_end(&o->scratch, mark);
	return add_scratch(o, T_ATTRIBUTE);
}

static uint32_t add_number_attribute(struct otlp *o, const char *key, int64_t value,
				     const char *unit)
{
	uint32_t k = add_string(o, key), u = add_string(o, unit ? unit : "");
	o->scratch.n = 0;
	wire_uint(&o->scratch, ATTRIBUTE_KEY, k);
	size_t mark = wire_begin(&o->scratch, ATTRIBUTE_VALUE);
	wire_uint_always(&o->scratch, ANY_INT, (uint64_t)value);
	wire_end(&o->scratch, mark);
	wire_uint(&o->scratch, ATTRIBUTE_UNIT, u);
	return add_scratch(o, T_ATTRIBUTE);
}

static uint32_t add_label(struct otlp *o, const struct profile_label *l)
{
	const char *key = l->key;
	bool is_number = false;
	for (size_t i = 0; i < sizeof(convention) / sizeof(*convention); i++)
		if (strcmp(key, convention[i].label) == 0) {
			key = convention[i].attribute;
			is_number = convention[i].is_number;
		}
	if (!l->str)
		return add_number_attribute(o, key, l->num, l->num_unit);
	char *end = NULL;
	errno = 0;
	long long number = is_number && *l->str >= '0' && *l->str <= '9'
		? strtoll(l->str, &end, 10) : 0;
	if (end && !*end && errno == 0)
		return add_number_attribute(o, key, number, NULL);
	return add_text_attribute(o, key, l->str);
}

static bool is_repeated_key(const struct profile_label *label, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(label[k].key, label[i].key) == 0)
			return true;
	return !*label[i].key;
}

/* ---- the dictionary of one profile --------------------------------------------------- */

static const char *kind_of_frame(const struct profile_mapping *m)
{
	for (size_t i = 0; i < sizeof(frame_kind) / sizeof(*frame_kind); i++)
		if (strncmp(m->filename, frame_kind[i].prefix, strlen(frame_kind[i].prefix)) == 0)
			return frame_kind[i].kind;
	return "native";
}

static uint32_t add_mapping(struct otlp *o, const struct profile_mapping *m)
{
	uint32_t name = add_string(o, m->filename);
	uint64_t id = *m->build_id
		? add_text_attribute(o, "process.executable.build_id.gnu", m->build_id) : 0;
	o->scratch.n = 0;
	wire_uint(&o->scratch, MAPPING_START, m->memory_start);
	wire_uint(&o->scratch, MAPPING_LIMIT, m->memory_limit);
	wire_uint(&o->scratch, MAPPING_OFFSET, m->file_offset);
	wire_uint(&o->scratch, MAPPING_FILENAME, name);
	wire_packed(&o->scratch, MAPPING_ATTRIBUTES, &id, id ? 1 : 0);
	return add_scratch(o, T_MAPPING);
}

static uint32_t add_function(struct otlp *o, const struct profile_function *f)
{
	uint32_t name = add_string(o, f->name), system_name = add_string(o, f->system_name),
		 filename = add_string(o, f->filename);
	if (!name && !system_name && !filename)
		return 0;
	o->scratch.n = 0;
	wire_uint(&o->scratch, FUNCTION_NAME, name);
	wire_uint(&o->scratch, FUNCTION_SYSTEM_NAME, system_name);
	wire_uint(&o->scratch, FUNCTION_FILENAME, filename);
	wire_uint(&o->scratch, FUNCTION_START_LINE, (uint64_t)f->start_line);
	return add_scratch(o, T_FUNCTION);
}

static uint32_t add_location(struct otlp *o, const struct profile *p,
			     const struct profile_location *l)
{
	const char *kind = l->mapping ? kind_of_frame(l->mapping) : NULL;
	uint64_t attribute = kind ? add_text_attribute(o, "profile.frame.type", kind) : 0;
	o->ids.n = 0;
	for (size_t i = 0; i < l->n_lines; i++)
		push_id(o, l->line[i].function ? add_function(o, l->line[i].function) : 0);
	o->scratch.n = 0;
	if (l->mapping)
		wire_uint(&o->scratch, LOCATION_MAPPING,
			  o->mapping.v[l->mapping - p->mapping]);
	wire_uint(&o->scratch, LOCATION_ADDRESS, l->address);
	for (size_t i = 0; i < o->ids.n; i++) {
		if (!o->ids.v[i])
			continue;
		size_t mark = wire_begin(&o->scratch, LOCATION_LINES);
		wire_uint(&o->scratch, LINE_FUNCTION, o->ids.v[i]);
		wire_uint(&o->scratch, LINE_LINE, (uint64_t)l->line[i].line);
		wire_uint(&o->scratch, LINE_COLUMN, (uint64_t)l->line[i].column);
		wire_end(&o->scratch, mark);
	}
	wire_packed(&o->scratch, LOCATION_ATTRIBUTES, &attribute, attribute ? 1 : 0);
	return add_scratch(o, T_LOCATION);
}

static bool add_tables(struct otlp *o, const struct profile *p)
{
	o->mapping.n = o->location.n = 0;
	if (!VEC_RESERVE(&o->mapping, p->n_mappings) || !VEC_RESERVE(&o->location, p->n_locations))
		return false;
	for (size_t i = 0; i < p->n_mappings; i++)
		o->mapping.v[o->mapping.n++] = add_mapping(o, &p->mapping[i]);
	for (size_t i = 0; i < p->n_locations; i++)
		o->location.v[o->location.n++] = add_location(o, p, &p->location[i]);
	return true;
}

/* ---- profiles ------------------------------------------------------------------------ */

static uint32_t add_stack(struct otlp *o, const struct pprof_sample_row *row)
{
	o->ids.n = 0;
	for (size_t i = 0; i < row->n_locations; i++)
		push_id(o, o->location.v[row->location[i]]);
	o->scratch.n = 0;
	wire_packed(&o->scratch, STACK_LOCATIONS, o->ids.v, o->ids.n);
	return add_scratch(o, T_STACK);
}

static void write_sample(struct otlp *o, const struct pprof_sample_row *row, uint64_t value)
{
	uint32_t stack = add_stack(o, row);
	size_t mark = wire_begin(&o->resources, PROFILE_SAMPLES);
	wire_uint(&o->resources, SAMPLE_STACK, stack);
	o->ids.n = 0;
	for (size_t i = 0; i < row->n_labels; i++) {
		uint32_t id = is_repeated_key(row->label, i) ? 0 : add_label(o, &row->label[i]);
		if (id)
			push_id(o, id);
	}
	wire_packed(&o->resources, SAMPLE_ATTRIBUTES, o->ids.v, o->ids.n);
	wire_packed(&o->resources, SAMPLE_VALUES, &value, 1);
	wire_end(&o->resources, mark);
}

static void write_value_type(struct otlp *o, unsigned int field, const struct profile_value_type *t)
{
	uint32_t type = add_string(o, t->type), unit = add_string(o, t->unit);
	size_t mark = wire_begin(&o->resources, field);
	wire_uint(&o->resources, VALUE_TYPE_TYPE, type);
	wire_uint(&o->resources, VALUE_TYPE_UNIT, unit);
	wire_end(&o->resources, mark);
}

/* The profile of one sample type.  0, or -errno of reading samples. */
static int write_profile(struct otlp *o, struct pprof_samples *samples, const struct profile *p,
			 size_t type, const uint8_t id[OTLP_ID_BYTES])
{
	struct wire *w = &o->resources;
	struct pprof_sample_row row;
	uint8_t own_id[OTLP_ID_BYTES];
	int r;
	memcpy(own_id, id, sizeof(own_id));
	own_id[OTLP_ID_BYTES - 1] ^= (uint8_t)type;
	size_t mark = wire_begin(w, SCOPE_PROFILES_PROFILES);
	write_value_type(o, PROFILE_SAMPLE_TYPE, &p->sample_type[type]);
	while ((r = pprof_samples_next(samples, &row)) == 1)
		if (row.value[type] != 0)
			write_sample(o, &row, (uint64_t)row.value[type]);
	wire_fixed64(w, PROFILE_TIME, (uint64_t)p->time_nanos);
	wire_uint(w, PROFILE_DURATION, (uint64_t)p->duration_nanos);
	write_value_type(o, PROFILE_PERIOD_TYPE, &p->period_type);
	wire_uint(w, PROFILE_PERIOD, (uint64_t)p->period);
	wire_bytes(w, PROFILE_ID, own_id, sizeof(own_id));
	wire_end(w, mark);
	pprof_samples_rewind(samples);
	return r;
}

static void write_resource(struct wire *w, const struct otlp_resource *resource)
{
	size_t mark = wire_begin(w, RESOURCE_PROFILES_RESOURCE);
	for (size_t i = 0; i < resource->n_attributes; i++) {
		const struct otlp_attribute *a = &resource->attribute[i];
		size_t pair = wire_begin(w, RESOURCE_ATTRIBUTES);
		wire_bytes(w, KEY_VALUE_KEY, a->key, strlen(a->key));
		size_t value = wire_begin(w, KEY_VALUE_VALUE);
		wire_bytes(w, ANY_STRING, a->value, strlen(a->value));
		wire_end(w, value);
		wire_end(w, pair);
	}
	wire_end(w, mark);
}

static void write_scope(struct wire *w)
{
	size_t mark = wire_begin(w, SCOPE_PROFILES_SCOPE);
	wire_bytes(w, SCOPE_NAME, "cprof", strlen("cprof"));
	wire_bytes(w, SCOPE_VERSION, CPROF_VERSION, strlen(CPROF_VERSION));
	wire_end(w, mark);
}

static int add_profiles(struct otlp *o, struct pprof_samples *samples, const struct profile *p,
			const struct otlp_resource *resource)
{
	int r = 0;
	if (!add_tables(o, p))
		return -ENOMEM;
	size_t mark = wire_begin(&o->resources, REQUEST_RESOURCE_PROFILES);
	write_resource(&o->resources, resource);
	size_t scope = wire_begin(&o->resources, RESOURCE_PROFILES_SCOPE_PROFILES);
	write_scope(&o->resources);
	for (size_t i = 0; i < p->n_sample_types && r == 0; i++)
		r = write_profile(o, samples, p, i, resource->id);
	wire_end(&o->resources, scope);
	wire_end(&o->resources, mark);
	return r;
}

int otlp_add(struct otlp *o, const void *data, size_t n_bytes, size_t max_bytes,
	     const struct otlp_resource *resource, struct err *e)
{
	CLEANUP_FREE uint8_t *plain = NULL;
	struct pprof_samples *samples;
	const struct profile *head;
	size_t before = o->resources.n;
	if (gzip_is(data, n_bytes)) {
		int r = gzip_inflate(data, n_bytes, max_bytes, &plain, &n_bytes, e);
		if (r < 0)
			return r;
		data = plain;
	}
	if (n_bytes > max_bytes)
		return err_set(e, E2BIG, "the profile has more than %zu bytes", max_bytes);
	int r = pprof_samples_open(data, n_bytes, &samples, &head, NULL, e);
	if (r < 0)
		return r;
	r = add_profiles(o, samples, head, resource);
	pprof_samples_close(samples);
	if (r < 0)
		o->resources.n = before;
	return r;
}

int otlp_finish(struct otlp *o, struct wire *w, struct err *e)
{
	bool failed = o->resources.failed || o->scratch.failed;
	for (size_t i = 0; i < N_TABLES; i++)
		failed |= o->table[i].failed;
	if (!failed && wire_reserve(w, o->resources.n)) {
		if (o->resources.n)
			memcpy(w->p + w->n, o->resources.p, o->resources.n);
		w->n += o->resources.n;
		size_t mark = wire_begin(w, REQUEST_DICTIONARY);
		for (unsigned int i = 0; i < N_TABLES; i++)
			otlp_table_write(&o->table[i], w, i + 1);
		wire_end(w, mark);
	}
	clear(o);
	return failed || w->failed ? err_errno(e, ENOMEM, "cannot encode profiles") : 0;
}
