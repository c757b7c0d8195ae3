/* Profiles that our writer never produces, built field by field. */

#include "base/err.h"
#include "proto/gzip.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "proto/pprof-tables.h"
#include "proto/pprof-tags.h"
#include "proto/wire.h"
#include "sink.h"
#include "tap.h"

#include <unistd.h>

enum { NONE, SAMPLES, COUNT, MAIN, FILE_C, KEY };

static void strings(struct wire *w)
{
	static const char *const text[] = { "", "samples", "count", "main", "file.c", "key" };
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		wire_bytes(w, PPROF_PROFILE_STRING_TABLE, text[i], strlen(text[i]));
}

static void message(struct wire *w, unsigned int field, const char *bytes, size_t n)
{
	wire_bytes(w, field, bytes, n);
}

/* Fields of a message, as pairs of field number and value, up to a 0. */
static void numbers(struct wire *w, unsigned int field, const uint64_t *pair)
{
	size_t mark = wire_begin(w, field);
	for (; pair[0]; pair += 2)
		wire_uint_always(w, (unsigned int)pair[0], pair[1]);
	wire_end(w, mark);
}
#define NUMBERS(w, field, ...) numbers(w, field, (uint64_t[]){ __VA_ARGS__, 0 })

/* The other reader, to the last sample. */
static int read_tables(const struct wire *w, struct pprof_samples **ret,
		       const struct profile **head, const struct pprof_tables **t,
		       struct pprof_sample_row *last, struct err *e)
{
	struct pprof_sample_row row;
	int r = pprof_samples_open(w->p, w->n, ret, head, t, e);
	while (r >= 0 && (r = pprof_samples_next(*ret, &row)) > 0)
		*last = row;
	return r;
}

static struct profile *accept(struct wire *w, const char *name)
{
	struct profile *p = NULL;
	struct err e = { 0 };
	if (!tap_int(profile_read(w->p, w->n, 0, &p, &e), 0, name))
		printf("# %s\n", e.what);
	wire_done(w);
	return p;
}

static void refuse(struct wire *w, const char *text, const char *name)
{
	struct profile *p = NULL;
	struct pprof_samples *s = NULL;
	const struct profile *head;
	const struct pprof_tables *t;
	struct pprof_sample_row last;
	struct err e = { 0 }, other = { 0 };
	int r = profile_read(w->p, w->n, 0, &p, &e);
	tap_ok(r == -EINVAL && strstr(e.what, text) && !p, "%s", name);
	if (r != -EINVAL || !strstr(e.what, text))
		printf("# %d %s\n", r, e.what);
	tap_int(read_tables(w, &s, &head, &t, &last, &other), r, "as tables, too");
	tap_ok(strstr(other.what, "not a valid profile"), "with a message");
	pprof_samples_close(s);
	wire_done(w);
}

/* The same as tables. */
static void test_odd_tables(const struct wire *w)
{
	struct pprof_samples *s = NULL;
	const struct profile *head;
	const struct pprof_tables *t;
	struct pprof_sample_row last = { 0 };
	struct err e = { 0 };
	tap_int(read_tables(w, &s, &head, &t, &last, &e), 0, "read as tables");
	const struct pprof_location_row *l = t->location;
	tap_ok(head->n_locations == 2 && head->n_functions == 2 && t->location_id[0] == 77 &&
	       l[0].mapping == 0 && l[1].mapping == PPROF_NO_INDEX && l[1].address == 16,
	       "locations keep their order");
	tap_ok(l[0].n_lines == 1 && l[1].n_lines == 0 &&
	       t->function[t->lines.v[l[0].first_line].function].name == MAIN &&
	       t->function[1].name == 0, "they find functions that come later");
	tap_ok(last.n_locations == 4 && last.location[0] == 0 && last.location[1] == 1 &&
	       last.location[2] == 0 && last.location[3] == 1 && last.value[0] == -5,
	       "the sample");
	pprof_samples_close(s);
}

static void test_odd(void)
{
	struct wire w = { 0 };
	uint64_t far = UINT64_MAX - 1;
	/* In reverse order: samples first, the string table last; ids with gaps. */
	size_t sample = wire_begin(&w, PPROF_PROFILE_SAMPLE);
	NUMBERS(&w, PPROF_SAMPLE_LABEL, PPROF_LABEL_NUM, 7, PPROF_LABEL_KEY, KEY);
	wire_uint_always(&w, PPROF_SAMPLE_VALUE, (uint64_t)-5);
	wire_uint_always(&w, PPROF_SAMPLE_LOCATION_ID, 77);
	wire_packed(&w, PPROF_SAMPLE_LOCATION_ID, (uint64_t[]){ far, 77 }, 2);
	wire_uint_always(&w, PPROF_SAMPLE_LOCATION_ID, far);
	wire_end(&w, sample);
	size_t location = wire_begin(&w, PPROF_PROFILE_LOCATION);
	NUMBERS(&w, PPROF_LOCATION_LINE, PPROF_LINE_LINE, 3, PPROF_LINE_FUNCTION_ID, 1ull << 40);
	wire_uint(&w, PPROF_LOCATION_MAPPING_ID, 9);
	wire_uint(&w, PPROF_LOCATION_ID, 77);
	wire_end(&w, location);
	NUMBERS(&w, PPROF_PROFILE_LOCATION, PPROF_LOCATION_ID, 5, PPROF_LOCATION_ID, far,
		PPROF_LOCATION_ADDRESS, 16);
	NUMBERS(&w, PPROF_PROFILE_FUNCTION, PPROF_FUNCTION_NAME, MAIN, PPROF_FUNCTION_ID,
		1ull << 40);
	NUMBERS(&w, PPROF_PROFILE_MAPPING, PPROF_MAPPING_ID, 9, PPROF_MAPPING_HAS_FUNCTIONS, 5);
	/* Unknown fields of all wire types. */
	wire_uint(&w, 100, 1);
	wire_bytes(&w, 200, "hello", 5);
	message(&w, PPROF_PROFILE_FUNCTION, "\x08\x02\xc5\x3e\1\2\3\4\xc1\x3e\1\2\3\4\5\6\7\x08",
		18);
	NUMBERS(&w, PPROF_PROFILE_PERIOD_TYPE, PPROF_VALUE_TYPE_TYPE, MAIN);
	NUMBERS(&w, PPROF_PROFILE_PERIOD_TYPE, PPROF_VALUE_TYPE_UNIT, COUNT);
	wire_uint(&w, PPROF_PROFILE_PERIOD, 1);
	wire_uint(&w, PPROF_PROFILE_PERIOD, 2);
	wire_packed(&w, PPROF_PROFILE_COMMENT, (uint64_t[]){ FILE_C, MAIN }, 2);
	wire_uint(&w, PPROF_PROFILE_COMMENT, KEY);
	NUMBERS(&w, PPROF_PROFILE_SAMPLE_TYPE, PPROF_VALUE_TYPE_TYPE, SAMPLES,
		PPROF_VALUE_TYPE_UNIT, COUNT);
	strings(&w);
	test_odd_tables(&w);
	struct profile *p = accept(&w, "odd but legal");
	if (!p)
		return;
	const struct profile_sample *s = &p->sample[0];
	tap_ok(s->n_locations == 4 && s->location[0]->id == 77 && s->location[1]->id == far &&
	       s->location[2]->id == 77 && s->location[3]->id == far,
	       "packed and single ids are combined, for ids that are not indices");
	tap_int(s->value[0], -5, "a single negative value is read");
	tap_ok(s->n_labels == 1 && strcmp(s->label[0].key, "key") == 0 && !s->label[0].str &&
	       s->label[0].num == 7, "a label");
	tap_str(s->location[0]->line[0].function->name, "main", "a function is found by its id");
	tap_ok(s->location[0]->mapping == &p->mapping[0] && p->mapping[0].has_functions,
	       "a mapping is found by its id; any bool but 0 is true");
	tap_int((long long)s->location[1]->address, 16, "the last value of a repeated id wins");
	tap_int((long long)p->n_functions, 2, "unknown fields are skipped");
	tap_ok(p->period == 2 && p->period_type.type[0] == '\0' &&
		       strcmp(p->period_type.unit, "count") == 0,
	       "the last value of a field that is not repeated wins");
	tap_ok(p->n_comments == 3 && strcmp(p->comment[0], "file.c") == 0 &&
	       strcmp(p->comment[2], "key") == 0, "packed and single comments");
	tap_ok(!p->default_sample_type[0] && !p->doc_url[0] && !p->drop_frames[0],
	       "absent strings are \"\"");
	profile_free(p);
}

static void test_references(void)
{
	struct wire w = { 0 };
	refuse(&w, "no string table", "an empty file");
	wire_bytes(&w, PPROF_PROFILE_STRING_TABLE, "x", 1);
	refuse(&w, "string_table[0]", "string_table[0] is not empty");
	strings(&w);
	wire_uint(&w, PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, 6);
	refuse(&w, "string that does not exist", "a string index one too large");
	strings(&w);
	wire_uint(&w, PPROF_PROFILE_COMMENT, UINT64_MAX);
	refuse(&w, "string that does not exist", "a string index of -1");
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_LOCATION, PPROF_LOCATION_ID, 1, PPROF_LOCATION_MAPPING_ID, 1);
	refuse(&w, "unknown mapping", "a location in an unknown mapping");
	strings(&w);
	message(&w, PPROF_PROFILE_LOCATION, "\x08\x01\x22\x02\x08\x03", 6);
	refuse(&w, "unknown function", "a line of an unknown function");
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x08\x01", 2);
	refuse(&w, "unknown location 1", "a sample at an unknown location");
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x08\x00", 2);
	refuse(&w, "unknown location 0", "a sample at location 0");
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x10\x01", 2);
	refuse(&w, "1 values for 0 sample types", "a value without a sample type");
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_SAMPLE_TYPE, PPROF_VALUE_TYPE_TYPE, SAMPLES);
	message(&w, PPROF_PROFILE_SAMPLE, "\x12\x02\x01\x01", 4);
	refuse(&w, "2 values for 1 sample types", "more values than sample types");
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_FUNCTION, PPROF_FUNCTION_NAME, MAIN);
	refuse(&w, "function 1 has no id, or the id 0", "a function without an id");
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_MAPPING, PPROF_MAPPING_ID, 3);
	NUMBERS(&w, PPROF_PROFILE_MAPPING, PPROF_MAPPING_ID, 3);
	refuse(&w, "two mappings have the id 3", "an id twice");
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_LOCATION, PPROF_LOCATION_ID, 1);
	NUMBERS(&w, PPROF_PROFILE_LOCATION, PPROF_LOCATION_ID, 1);
	refuse(&w, "two locations have the id 1", "the first id twice");

	strings(&w);
	message(&w, PPROF_PROFILE_LOCATION, "\x08\x01\x22\x02\x10\x03", 6);
	struct profile *p = accept(&w, "a line without a function is left to the checker");
	tap_ok(p && p->location[0].n_lines == 1 && !p->location[0].line[0].function,
	       "and there are none");
	profile_free(p);
	wire_bytes(&w, PPROF_PROFILE_STRING_TABLE, "", 0);
	wire_bytes(&w, PPROF_PROFILE_STRING_TABLE, "a\0b", 3);
	wire_uint(&w, PPROF_PROFILE_COMMENT, 1);
	p = accept(&w, "a string with a NUL byte");
	tap_str(p ? p->comment[0] : NULL, "a", "a string ends at its NUL");
	profile_free(p);
}

static void test_types(void)
{
	static const struct {
		unsigned int field;
		const char *name;
	} messages[] = {
		{ PPROF_PROFILE_SAMPLE_TYPE, "sample_type" },
		{ PPROF_PROFILE_SAMPLE, "sample" },
		{ PPROF_PROFILE_MAPPING, "mapping" },
		{ PPROF_PROFILE_LOCATION, "location" },
		{ PPROF_PROFILE_FUNCTION, "function" },
		{ PPROF_PROFILE_STRING_TABLE, "string_table" },
		{ PPROF_PROFILE_PERIOD_TYPE, "period_type" },
	};
	static const struct {
		unsigned int field;
		const char *name;
	} scalars[] = {
		{ PPROF_PROFILE_DROP_FRAMES, "drop_frames" },
		{ PPROF_PROFILE_KEEP_FRAMES, "keep_frames" },
		{ PPROF_PROFILE_TIME_NANOS, "time_nanos" },
		{ PPROF_PROFILE_DURATION_NANOS, "duration_nanos" },
		{ PPROF_PROFILE_PERIOD, "period" },
		{ PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, "default_sample_type" },
		{ PPROF_PROFILE_DOC_URL, "doc_url" },
	};
	char name[80];
	struct wire w = { 0 };
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		snprintf(name, sizeof(name), "a number for %s", messages[i].name);
		strings(&w);
		wire_uint(&w, messages[i].field, 1);
		refuse(&w, "number where a message belongs", name);
	}
	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
		snprintf(name, sizeof(name), "bytes for %s", scalars[i].name);
		strings(&w);
		wire_bytes(&w, scalars[i].field, "", 0);
		refuse(&w, "another type than a number", name);
	}
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x12\x01\x80", 3);
	refuse(&w, "truncated number", "a truncated packed value");
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x09\1\2\3\4\5\6\7\x08", 9);
	refuse(&w, "another type than numbers", "a fixed64 as a location id");
	strings(&w);
	wire_bytes(&w, PPROF_PROFILE_COMMENT, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
	refuse(&w, "more than ten bytes", "a packed number that is too long");
	strings(&w);
	message(&w, PPROF_PROFILE_SAMPLE, "\x1a\x05\x08", 3);
	refuse(&w, "malformed field at byte 3", "a label that is longer than its sample");
}

/* A profile truncated at every byte, and with every bit changed: no crash, no leak. */
static void test_damage(void)
{
	struct wire w = { 0 };
	strings(&w);
	NUMBERS(&w, PPROF_PROFILE_SAMPLE_TYPE, PPROF_VALUE_TYPE_TYPE, SAMPLES);
	NUMBERS(&w, PPROF_PROFILE_MAPPING, PPROF_MAPPING_ID, 1, PPROF_MAPPING_FILENAME, FILE_C);
	NUMBERS(&w, PPROF_PROFILE_FUNCTION, PPROF_FUNCTION_ID, 1, PPROF_FUNCTION_NAME, MAIN);
	message(&w, PPROF_PROFILE_LOCATION, "\x08\x01\x10\x01\x22\x02\x08\x01", 8);
	message(&w, PPROF_PROFILE_SAMPLE, "\x0a\x02\x01\x01\x12\x01\x09\x1a\x02\x08\x05", 11);
	struct err e = { 0 };
	struct profile *p = NULL;
	int n_ok = 0, n_other = 0;
	for (size_t i = 0; i <= w.n; i++) {
		int r = profile_read(w.p, i, 0, &p, &e);
		n_ok += r == 0;
		n_other += r != 0 && r != -EINVAL;
		if (r == 0)
			profile_free(p);
	}
	tap_ok(n_ok > 0 && n_ok < 20 && n_other == 0,
	       "truncated anywhere: -EINVAL, or a smaller profile");
	n_ok = 0;
	for (size_t i = 0; i < w.n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			w.p[i] ^= (uint8_t)(1 << bit);
			int r = profile_read(w.p, w.n, 0, &p, &e);
			n_ok += r == 0;
			n_other += r != 0 && r != -EINVAL;
			if (r == 0)
				profile_free(p);
			w.p[i] ^= (uint8_t)(1 << bit);
		}
	}
	tap_ok(n_ok > 0 && n_other == 0, "any bit changed: -EINVAL, or another profile");
	tap_int(profile_read(w.p, w.n, w.n - 1, &p, &e), -E2BIG, "the size limit applies");

	struct sink s = { 0 };
	struct gzip g = { 0 };
	gzip_open(&g, sink_write, &s, 9);
	gzip_write(&g, w.p, w.n);
	gzip_finish(&g);
	gzip_close(&g);
	tap_int(profile_read(s.bytes.v, s.bytes.n, w.n - 1, &p, &e), -E2BIG,
		"the limit counts uncompressed bytes");
	tap_int(profile_read(s.bytes.v, s.bytes.n - 1, 0, &p, &e), -EINVAL,
		"truncated gzip data is refused");
	tap_str(e.what, "the gzip data is truncated", "the message says so");
	tap_int(profile_read(s.bytes.v, s.bytes.n, w.n, &p, &e), 0, "gzip data is read");
	/* The result must not refer to the input. */
	memset(s.bytes.v, 0xff, s.bytes.n);
	tap_str(p->sample[0].location[1]->line[0].function->name, "main",
		"the result does not refer to its input");
	profile_free(p);

	char path[] = "/tmp/test-pprof-read-XXXXXX";
	int fd = mkstemp(path);
	tap_int(profile_read_file(path, &p, &e), -EINVAL, "an empty file");
	tap_ok(strstr(e.what, path) && strstr(e.what, "the file is empty"),
	       "the message names the file");
	(void)!write(fd, w.p, w.n);
	tap_int(profile_read_file(path, &p, &e), 0, "a file that is not gzipped is read");
	profile_free(p);
	close(fd);
	unlink(path);
	tap_int(profile_read_file(path, &p, &e), -ENOENT, "a missing file");
	tap_int(profile_read_file("/", &p, &e), -EISDIR, "a folder");
	tap_str(e.what, "cannot read '/': Is a directory", "the message names the file");
	VEC_FREE(&s.bytes);
	wire_done(&w);
	profile_free(NULL);
}

int main(void)
{
	test_odd();
	test_references();
	test_types();
	test_damage();
	return tap_done();
}
