/*
 * One function per part of a profile.  The rules are based on these facts about consumers:
 *
 * - Parca indexes mappings, functions and locations by id - 1, and reads comments that begin
 *   with "executableInfo=" as data;
 * - Pyroscope rejects invalid UTF-8 and sample types with a dash, drops samples with a negative
 *   value or only zeros, numeric labels, and locations without a line, and truncates at 1000
 *   frames, 65535 bytes, 100 labels and 16000 samples;
 * - speedscope shows one sample type, and drops locations without a line;
 * - pprof drops numeric labels that are 0 without a unit, reserves keys that begin with "pprof::",
 *   and does not symbolize a mapping that claims to have symbols.
 */

#include "proto/pprof-check.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "proto/pprof-read.h"
#include "proto/pprof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STRING_BYTES 65535
#define MAX_FRAMES 1000
#define MAX_LABELS 100
#define MAX_SAMPLES 16000

struct check {
	const struct profile *p;
	unsigned consumers;
	pprof_check_fn *found;
	void *ctx;
	size_t n_of_rule[PPROF_CHECK_N_RULES];
	size_t n_errors, n_warnings;
};

/* Facts about the locations of a mapping. */
struct mapping_facts {
	size_t n_locations, n_named, n_with_file, n_with_line, n_with_inlines;
};

/* The keys of all labels, with the kinds of their values. */
struct label_key {
	const char *key;
	bool has_str, has_num;
};

struct label_keys {
	VEC(struct label_key) keys;
	struct hashindex by_key;
};

static const char *const rule_name[PPROF_CHECK_N_RULES] = {
	[PPROF_CHECK_SAMPLE_TYPES] = "sample-types",
	[PPROF_CHECK_DEFAULT_TYPE] = "default-type",
	[PPROF_CHECK_PERIOD] = "period",
	[PPROF_CHECK_TIMES] = "times",
	[PPROF_CHECK_IDS] = "ids",
	[PPROF_CHECK_UTF8] = "utf8",
	[PPROF_CHECK_LENGTHS] = "lengths",
	[PPROF_CHECK_MAPPING] = "mapping",
	[PPROF_CHECK_FLAGS] = "flags",
	[PPROF_CHECK_FUNCTION_NAMES] = "function-names",
	[PPROF_CHECK_ADDRESSES] = "addresses",
	[PPROF_CHECK_LINES] = "lines",
	[PPROF_CHECK_STACKS] = "stacks",
	[PPROF_CHECK_VALUES] = "values",
	[PPROF_CHECK_LABELS] = "labels",
	[PPROF_CHECK_NUMBERS] = "numbers",
	[PPROF_CHECK_COMMENTS] = "comments",
	[PPROF_CHECK_DOC_URL] = "doc-url",
	[PPROF_CHECK_SIZE] = "size",
};

/* In the order of the bits of enum pprof_consumer. */
static const char *const consumer_name[PPROF_N_CONSUMERS] = {
	"pprof",
	"parca",
	"pyroscope",
	"speedscope",
};

const char *pprof_consumer_name(unsigned i)
{
	return consumer_name[i];
}

const char *pprof_check_rule_name(enum pprof_check_rule rule)
{
	return rule_name[rule];
}

static void report(struct check *c, enum pprof_check_severity severity, enum pprof_check_rule rule,
		   unsigned consumers, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void report(struct check *c, enum pprof_check_severity severity, enum pprof_check_rule rule,
		   unsigned consumers, const char *fmt, ...)
{
	if (!(c->consumers & consumers))
		return;
	if (severity == PPROF_CHECK_ERROR)
		c->n_errors++;
	else
		c->n_warnings++;
	if (c->n_of_rule[rule]++ >= PPROF_CHECK_MAX_PER_RULE || !c->found)
		return;
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct pprof_finding finding = {
		.severity = severity, .rule = rule, .consumers = consumers, .text = text
	};
	c->found(c->ctx, &finding);
}

#define GO PPROF_CONSUMER_PPROF
#define PARCA PPROF_CONSUMER_PARCA
#define PYROSCOPE PPROF_CONSUMER_PYROSCOPE
#define SPEEDSCOPE PPROF_CONSUMER_SPEEDSCOPE
#define ALL PPROF_CONSUMER_ALL
#define ERROR(c, rule, who, ...) report(c, PPROF_CHECK_ERROR, PPROF_CHECK_##rule, who, __VA_ARGS__)
#define WARNING(c, rule, who, ...)                                                                 \
	report(c, PPROF_CHECK_WARNING, PPROF_CHECK_##rule, who, __VA_ARGS__)

static bool only_of(const char *s, const char *set)
{
	return s[0] && s[strspn(s, set)] == '\0';
}

static bool begins(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static void check_strings(struct check *c)
{
	for (size_t i = 0; i < c->p->n_strings; i++) {
		const char *s = c->p->string[i];
		size_t n = strlen(s), n_valid = utf8_valid_prefix(s, n);
		if (n_valid != n)
			ERROR(c, UTF8, PARCA | PYROSCOPE,
			      "string %zu: invalid UTF-8 at its byte %zu", i, n_valid);
		if (n > MAX_STRING_BYTES)
			WARNING(c, LENGTHS, PYROSCOPE, "string %zu: %zu bytes, more than %d", i, n,
				MAX_STRING_BYTES);
	}
}

static void check_head(struct check *c)
{
	const struct profile *p = c->p;
	bool have_default = false;
	if (p->n_sample_types == 0)
		ERROR(c, SAMPLE_TYPES, ALL, "no sample types");
	for (size_t i = 0; i < p->n_sample_types; i++) {
		const struct profile_value_type *t = &p->sample_type[i];
		if (!only_of(t->type, "abcdefghijklmnopqrstuvwxyz0123456789_"))
			ERROR(c, SAMPLE_TYPES, PARCA | PYROSCOPE,
			      "sample type %zu: name '%s' is not of [a-z0-9_]", i + 1, t->type);
		if (!t->unit[0])
			ERROR(c, SAMPLE_TYPES, ALL, "sample type %zu ('%s'): no unit", i + 1,
			      t->type);
		for (size_t j = 0; j < i; j++)
			if (strcmp(p->sample_type[j].type, t->type) == 0)
				ERROR(c, SAMPLE_TYPES, ALL,
				      "sample types %zu and %zu are both '%s'", j + 1, i + 1,
				      t->type);
		have_default |= strcmp(t->type, p->default_sample_type) == 0;
	}
	/* the number by which pprof -mean divides: of samples, contentions, goroutines */
	if (p->n_sample_types > 0 && strcmp(p->sample_type[0].unit, "count") != 0)
		WARNING(c, SAMPLE_TYPES, GO,
			"the first sample type, '%s/%s', is not a count",
			p->sample_type[0].type, p->sample_type[0].unit);
	if (!p->default_sample_type[0])
		WARNING(c, DEFAULT_TYPE, GO | SPEEDSCOPE, "no default sample type");
	else if (!have_default)
		ERROR(c, DEFAULT_TYPE, GO | SPEEDSCOPE,
		      "the default sample type '%s' does not exist", p->default_sample_type);
	if (!p->period_type.type[0] || !p->period_type.unit[0])
		ERROR(c, PERIOD, GO | PARCA | PYROSCOPE, "the period has no type or no unit");
	if (p->period < 0)
		ERROR(c, PERIOD, PARCA | PYROSCOPE, "negative period %lld", (long long)p->period);
	if (p->duration_nanos <= 0)
		ERROR(c, TIMES, PARCA, "duration of %lld ns", (long long)p->duration_nanos);
	if (p->time_nanos <= 0)
		WARNING(c, TIMES, PARCA | PYROSCOPE, "no start time");
	for (size_t i = 0; i < p->n_comments; i++)
		if (begins(p->comment[i], "executableInfo="))
			ERROR(c, COMMENTS, PARCA, "comment %zu begins with 'executableInfo='",
			      i + 1);
	if (p->doc_url[0] && !begins(p->doc_url, "http://") && !begins(p->doc_url, "https://"))
		ERROR(c, DOC_URL, GO, "'%s' is not an absolute http or https address", p->doc_url);
}

static void check_id(struct check *c, const char *kind, size_t i, uint64_t id)
{
	if (id != i + 1)
		ERROR(c, IDS, PARCA | PYROSCOPE, "%s number %zu has the id %llu", kind, i + 1,
		      (unsigned long long)id);
}

static void check_flags(struct check *c, size_t i, const struct mapping_facts *facts)
{
	const struct profile_mapping *m = &c->p->mapping[i];
	const struct {
		const char *name;
		bool set;
		size_t n_shown;
	} flag[] = {
		{ "has_functions", m->has_functions, facts->n_named },
		{ "has_filenames", m->has_filenames, facts->n_with_file },
		{ "has_line_numbers", m->has_line_numbers, facts->n_with_line },
	};
	for (size_t k = 0; k < sizeof(flag) / sizeof(*flag); k++)
		if (flag[k].set && flag[k].n_shown == 0)
			ERROR(c, FLAGS, GO,
			      "mapping %zu ('%s'): %s is set, but none of its %zu location%s "
			      "has such data", i + 1, m->filename, flag[k].name,
			      facts->n_locations, units_s(facts->n_locations));
	/* The flag may be set even if no location has inlined frames. */
	if (m->has_inline_frames && facts->n_named == 0)
		ERROR(c, FLAGS, GO,
		      "mapping %zu ('%s'): has_inline_frames is set, but no location has "
		      "a function",
		      i + 1, m->filename);
	if (!m->has_inline_frames && facts->n_with_inlines > 0)
		WARNING(c, FLAGS, GO,
			"mapping %zu ('%s'): has_inline_frames is not set, but %zu "
			"location%s %s inlined frames", i + 1, m->filename,
			facts->n_with_inlines, units_s(facts->n_with_inlines),
			units_word(facts->n_with_inlines, "has", "have"));
}

static void check_mappings(struct check *c, const struct mapping_facts *facts)
{
	const struct profile *p = c->p;
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mapping[i];
		check_id(c, "mapping", i, m->id);
		if (m->memory_limit != 0 && m->memory_start >= m->memory_limit)
			ERROR(c, MAPPING, GO | PARCA,
			      "mapping %zu ('%s'): starts at 0x%llx and ends at 0x%llx", i + 1,
			      m->filename, (unsigned long long)m->memory_start,
			      (unsigned long long)m->memory_limit);
		if (m->build_id[0] && !only_of(m->build_id, "0123456789abcdef"))
			ERROR(c, MAPPING, GO | PARCA,
			      "mapping %zu ('%s'): build id '%s' is not lower-case hex", i + 1,
			      m->filename, m->build_id);
		if (!m->filename[0])
			WARNING(c, MAPPING, GO | PARCA, "mapping %zu: no file name", i + 1);
		if (i > 0 && p->mapping[0].filename[0] == '[' && m->filename[0] == '/' &&
		    strcmp(p->mapping[0].filename, PPROF_NO_MAIN) != 0) {
			WARNING(c, MAPPING, GO | PARCA,
				"mapping 1 is '%s', although there is a file, '%s'",
				p->mapping[0].filename, m->filename);
			break;
		}
	}
	for (size_t i = 0; i < p->n_mappings; i++)
		check_flags(c, i, &facts[i]);
}

static void check_functions(struct check *c)
{
	const struct profile *p = c->p;
	for (size_t i = 0; i < p->n_functions; i++) {
		check_id(c, "function", i, p->function[i].id);
		if (!p->function[i].name[0])
			ERROR(c, FUNCTION_NAMES, ALL, "function %zu: no name", i + 1);
		if (p->function[i].start_line < 0)
			ERROR(c, LINES, ALL, "function %zu: negative start line", i + 1);
	}
}

static void check_locations(struct check *c, struct mapping_facts *facts)
{
	const struct profile *p = c->p;
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->location[i];
		const struct profile_mapping *m = l->mapping;
		bool named = false, with_file = false, with_line = false;
		check_id(c, "location", i, l->id);
		for (size_t k = 0; k < l->n_lines; k++) {
			const struct profile_line *line = &l->line[k];
			if (!line->function)
				ERROR(c, LINES, ALL, "location %zu: line %zu has no function",
				      i + 1, k + 1);
			if (line->line < 0 || line->column < 0)
				ERROR(c, LINES, ALL, "location %zu: negative line or column",
				      i + 1);
			named |= line->function && line->function->name[0];
			with_file |= line->function && line->function->filename[0];
			with_line |= line->line > 0;
		}
		if (!m) {
			if (l->n_lines == 0)
				WARNING(c, LINES, PYROSCOPE | SPEEDSCOPE,
					"location %zu: neither a mapping nor a function", i + 1);
			continue;
		}
		if (m->memory_limit != 0 &&
		    (l->address < m->memory_start || l->address >= m->memory_limit))
			ERROR(c, ADDRESSES, PARCA,
			      "location %zu: address 0x%llx is outside its mapping "
			      "'%s' (0x%llx-0x%llx)",
			      i + 1, (unsigned long long)l->address, m->filename,
			      (unsigned long long)m->memory_start,
			      (unsigned long long)m->memory_limit);
		struct mapping_facts *f = &facts[m - p->mapping];
		f->n_locations++;
		f->n_named += named;
		f->n_with_file += with_file;
		f->n_with_line += with_line;
		f->n_with_inlines += l->n_lines > 1;
	}
}

/* Finds or adds the entry of a key; NULL if out of memory. */
static struct label_key *label_key(struct label_keys *t, const char *key)
{
	uint64_t hash = hash_bytes(key, strlen(key));
	uint32_t i = HASHINDEX_FIND(&t->by_key, hash, k, strcmp(t->keys.v[k].key, key) == 0);
	if (i == HASHINDEX_NONE) {
		i = (uint32_t)t->keys.n;
		if (!VEC_PUSH(&t->keys, ((struct label_key){ .key = key })) ||
		    !hashindex_add(&t->by_key, hash, i))
			return NULL;
	}
	return &t->keys.v[i];
}

static int check_labels(struct check *c, size_t i, struct label_keys *keys)
{
	const struct profile_sample *s = &c->p->sample[i];
	size_t n_seen = s->n_labels < MAX_LABELS ? s->n_labels : MAX_LABELS;
	if (s->n_labels > MAX_LABELS)
		WARNING(c, LENGTHS, PYROSCOPE, "sample %zu: %zu labels, more than %d", i + 1,
			s->n_labels, MAX_LABELS);
	for (size_t k = 0; k < s->n_labels; k++) {
		const struct profile_label *l = &s->label[k];
		if (!l->key[0])
			ERROR(c, LABELS, ALL, "sample %zu: label without a key", i + 1);
		if (begins(l->key, "pprof::"))
			ERROR(c, LABELS, GO, "sample %zu: the key '%s' is reserved", i + 1, l->key);
		if (!l->str && l->num == 0 && !l->num_unit[0])
			ERROR(c, LABELS, GO | PYROSCOPE,
			      "sample %zu: the number 0 of '%s' has no unit and is lost", i + 1,
			      l->key);
		if (l->str && (l->num != 0 || l->num_unit[0]))
			ERROR(c, LABELS, GO | PARCA | PYROSCOPE,
			      "sample %zu: label '%s' is both a string and a number", i + 1,
			      l->key);
		struct label_key *have = label_key(keys, l->key);
		if (!have)
			return -ENOMEM;
		if (l->str ? have->has_num : have->has_str)
			ERROR(c, LABELS, GO | PARCA | PYROSCOPE,
			      "sample %zu: '%s' is a %s here and a %s elsewhere", i + 1, l->key,
			      l->str ? "string" : "number", l->str ? "number" : "string");
		if (!l->str && !have->has_num && (l->num != 0 || l->num_unit[0]))
			WARNING(c, NUMBERS, PYROSCOPE, "the label '%s' is a number and is dropped",
				l->key);
		have->has_str |= l->str != NULL;
		have->has_num |= l->str == NULL;
		for (size_t j = 0; j < k && k < n_seen; j++)
			if (strcmp(s->label[j].key, l->key) == 0)
				WARNING(c, LABELS, GO | PARCA | PYROSCOPE,
					"sample %zu: two labels '%s'", i + 1, l->key);
	}
	return 0;
}

static void label_keys_done(struct label_keys *keys)
{
	VEC_FREE(&keys->keys);
	hashindex_done(&keys->by_key);
}

static int check_samples(struct check *c)
{
	const struct profile *p = c->p;
	CLEANUP(label_keys_done) struct label_keys keys = { 0 };
	if (p->n_samples > MAX_SAMPLES)
		WARNING(c, SIZE, PYROSCOPE, "%zu samples, more than %d", p->n_samples, MAX_SAMPLES);
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		bool all_zero = true;
		if (s->n_locations == 0)
			ERROR(c, STACKS, PARCA | PYROSCOPE | SPEEDSCOPE, "sample %zu: no location",
			      i + 1);
		if (s->n_locations > MAX_FRAMES)
			WARNING(c, LENGTHS, PYROSCOPE, "sample %zu: %zu frames, more than %d",
				i + 1, s->n_locations, MAX_FRAMES);
		for (size_t k = 0; k < p->n_sample_types; k++) {
			if (s->value[k] < 0)
				ERROR(c, VALUES, PYROSCOPE,
				      "sample %zu: negative value %lld of '%s'", i + 1,
				      (long long)s->value[k], p->sample_type[k].type);
			all_zero &= s->value[k] == 0;
		}
		if (all_zero)
			WARNING(c, VALUES, PARCA | PYROSCOPE, "sample %zu: all values are 0",
				i + 1);
		int r = check_labels(c, i, &keys);
		if (r < 0)
			return r;
	}
	return 0;
}

int pprof_check(const struct profile *p, unsigned consumers, pprof_check_fn *found, void *ctx,
		size_t *ret_n_errors, size_t *ret_n_warnings)
{
	struct check c = { .p = p, .consumers = consumers, .found = found, .ctx = ctx };
	struct mapping_facts *facts = calloc(p->n_mappings + 1, sizeof(*facts));
	if (!facts)
		return -ENOMEM;
	check_strings(&c);
	check_head(&c);
	check_functions(&c);
	check_locations(&c, facts);
	check_mappings(&c, facts);
	free(facts);
	int r = check_samples(&c);
	if (r < 0)
		return r;
	*ret_n_errors = c.n_errors;
	if (ret_n_warnings)
		*ret_n_warnings = c.n_warnings;
	return 0;
}
