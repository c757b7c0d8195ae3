/* For each rule, one change to a valid profile violates only that rule. */

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "proto/pprof.h"
#include "tap.h"

#include <stdlib.h>

/* A valid profile, which each test changes in one place. */
struct fixture {
	struct profile p;
	struct profile_value_type type[2];
	struct profile_mapping map[2];
	struct profile_function fn[2];
	struct profile_line line[3];
	struct profile_location loc[3];
	const struct profile_location *stack[2];
	int64_t value[4];
	struct profile_label label[3];
	struct profile_sample sample[2];
	const char *comment[1];
	const char *string[3];
};

static struct fixture x;

static void sound(void)
{
	x = (struct fixture){
		.type = { { "samples", "count" }, { "cpu", "nanoseconds" } },
		.map = {
			{ .id = 1, .memory_start = 0x1000, .memory_limit = 0x2000,
			  .filename = "/bin/a",
			  .build_id = "00ff", .has_functions = true, .has_filenames = true,
			  .has_line_numbers = true, .has_inline_frames = true },
			{ .id = 2, .memory_start = 0x1000, .filename = "[kernel.kallsyms]",
			  .build_id = "", .has_functions = true },
		},
		.fn = { { 1, "f", "f", "f.c", 1 }, { 2, "g", "g", "", 0 } },
		.line = { { &x.fn[1], 0, 0 }, { &x.fn[0], 5, 0 }, { &x.fn[1], 0, 0 } },
		.loc = {
			{ .id = 1, .address = 0x1000, .mapping = &x.map[0], .line = x.line,
			  .n_lines = 2 },
			{ .id = 2, .address = UINT64_MAX, .mapping = &x.map[1], .line = x.line + 2,
			  .n_lines = 1 },
			{ .id = 3, .address = 0x1fff, .mapping = &x.map[0] },
		},
		.stack = { &x.loc[0], &x.loc[1] },
		.value = { 1, 10, 0, 3 },
		.label = { { .key = "pid", .str = "1", .num_unit = "" },
			   { .key = "cpu", .str = "0", .num_unit = "" },
			   { .key = "pid", .str = "2", .num_unit = "" } },
		.sample = {
			{ .location = x.stack, .value = x.value, .label = x.label, .n_locations = 2,
			  .n_labels = 2 },
			{ .location = x.stack, .value = x.value + 2, .label = x.label + 2,
			  .n_locations = 1, .n_labels = 1 },
		},
		.comment = { "a comment" },
		.string = { "", "f", "g" },
	};
	x.p = (struct profile){
		.sample_type = x.type,
		.n_sample_types = 2,
		.sample = x.sample,
		.n_samples = 2,
		.mapping = x.map,
		.n_mappings = 2,
		.location = x.loc,
		.n_locations = 3,
		.function = x.fn,
		.n_functions = 2,
		.comment = x.comment,
		.n_comments = 1,
		.string = x.string,
		.n_strings = 3,
		.default_sample_type = "cpu",
		.drop_frames = "",
		.keep_frames = "",
		.doc_url = "https://example.org/",
		.period_type = { "cpu", "nanoseconds" },
		.period = 1,
		.time_nanos = 1,
		.duration_nanos = 1,
	};
}

struct seen {
	int n;
	struct pprof_finding last;
	char text[512];
};

static void see(void *ctx, const struct pprof_finding *f)
{
	struct seen *s = ctx;
	s->n++;
	s->last = *f;
	snprintf(s->text, sizeof(s->text), "%s", f->text);
}

static unsigned who = PPROF_CONSUMER_ALL;

static void finds_nothing(const char *name)
{
	size_t n_errors = 99, n_warnings = 99;
	pprof_check(&x.p, who, NULL, NULL, &n_errors, &n_warnings);
	tap_ok(n_errors == 0 && n_warnings == 0, "%s", name);
	sound();
}

/* Expects one finding of this rule and severity that contains `text`, then restores the profile. */
static void finds(enum pprof_check_severity severity, enum pprof_check_rule rule, const char *text)
{
	struct seen s = { 0 };
	size_t n_errors = 99, n_warnings = 99;
	pprof_check(&x.p, who, see, &s, &n_errors, &n_warnings);
	bool ok = s.n == 1 && s.last.severity == severity && s.last.rule == rule &&
		  strstr(s.text, text) && n_errors == (severity == PPROF_CHECK_ERROR) &&
		  n_warnings == (severity == PPROF_CHECK_WARNING);
	tap_ok(ok, "%s: %s", pprof_check_rule_name(rule), text);
	if (!ok)
		printf("# %d findings, the last: %d %s '%s'\n", s.n, (int)s.last.severity,
		       pprof_check_rule_name(s.last.rule), s.text);
	sound();
}
#define ERROR(rule, text) finds(PPROF_CHECK_ERROR, PPROF_CHECK_##rule, text)
#define WARNING(rule, text) finds(PPROF_CHECK_WARNING, PPROF_CHECK_##rule, text)

static void test_head(void)
{
	x.p.default_sample_type = x.type[1].type = "cache-misses";
	ERROR(SAMPLE_TYPES, "'cache-misses' is not of [a-z0-9_]");
	x.p.default_sample_type = x.type[1].type = "";
	x.p.default_sample_type = "samples";
	ERROR(SAMPLE_TYPES, "name '' is not");
	x.type[1].unit = "";
	ERROR(SAMPLE_TYPES, "no unit");
	x.type[1].type = "samples";
	x.p.default_sample_type = "samples";
	ERROR(SAMPLE_TYPES, "sample types 1 and 2 are both 'samples'");
	x.type[0].type = "ticks";
	x.type[0].unit = "nanoseconds";
	WARNING(SAMPLE_TYPES, "'ticks/nanoseconds', is not a count");
	x.p.n_sample_types = x.p.n_samples = 0;
	x.p.default_sample_type = "";
	struct seen s = { 0 };
	size_t n_errors = 0;
	tap_ok(pprof_check(&x.p, PPROF_CONSUMER_ALL, see, &s, &n_errors, NULL) == 0 &&
		       n_errors == 1 && s.n == 2,
	       "no sample types");
	sound();
	x.p.default_sample_type = "";
	WARNING(DEFAULT_TYPE, "no default sample type");
	x.p.default_sample_type = "wall";
	ERROR(DEFAULT_TYPE, "'wall' does not exist");
	x.p.period_type = (struct profile_value_type){ "", "" };
	ERROR(PERIOD, "no type");
	x.p.period_type.unit = "";
	ERROR(PERIOD, "no unit");
	x.p.period = -1;
	ERROR(PERIOD, "negative period -1");
	x.p.duration_nanos = 0;
	ERROR(TIMES, "duration of 0 ns");
	x.p.time_nanos = 0;
	WARNING(TIMES, "no start time");
	x.comment[0] = "executableInfo=x";
	ERROR(COMMENTS, "comment 1 begins with 'executableInfo='");
	x.p.doc_url = "example.org";
	ERROR(DOC_URL, "'example.org' is not an absolute");
	x.string[2] = "g\xff";
	ERROR(UTF8, "string 2: invalid UTF-8 at its byte 1");
	char *text = malloc(65537);
	memset(text, 'a', 65536);
	text[65536] = '\0';
	x.string[2] = text;
	WARNING(LENGTHS, "string 2: 65536 bytes");
	free(text);
}

static void test_symbols(void)
{
	x.map[1].id = 3;
	ERROR(IDS, "mapping number 2 has the id 3");
	x.fn[0].id = 0;
	ERROR(IDS, "function number 1 has the id 0");
	x.loc[2].id = 4;
	ERROR(IDS, "location number 3 has the id 4");
	x.map[1].memory_limit = 0x1000;
	x.loc[1].address = 0x1000;
	x.p.n_locations = 3;
	struct seen s = { 0 };
	size_t n_errors = 0;
	pprof_check(&x.p, PPROF_CONSUMER_ALL, see, &s, &n_errors, NULL);
	tap_ok(n_errors == 2 && s.last.rule == PPROF_CHECK_MAPPING &&
	       strstr(s.text, "starts at 0x1000 and ends at 0x1000"), "mapping: an empty range");
	sound();
	x.map[0].build_id = "00FF";
	ERROR(MAPPING, "build id '00FF' is not lower-case hex");
	x.map[1].filename = "";
	WARNING(MAPPING, "mapping 2: no file name");
	x.map[0].filename = "[vdso]";
	x.map[1].filename = "/bin/a";
	WARNING(MAPPING, "mapping 1 is '[vdso]'");
	x.map[0] = (struct profile_mapping){ .id = 1, .filename = PPROF_NO_MAIN, .build_id = "" };
	x.map[1].filename = "/bin/a";
	x.loc[0].mapping = x.loc[2].mapping = &x.map[1];
	x.loc[0].address = x.loc[2].address = x.map[1].memory_start;
	x.map[1].has_filenames = x.map[1].has_line_numbers = x.map[1].has_inline_frames = true;
	finds_nothing("mapping: none in the place of a main binary");
	x.line[2].function = x.line[0].function = &x.fn[0];
	x.fn[0].filename = "";
	ERROR(FLAGS, "has_filenames is set, but none of its 2 locations");
	x.line[1].line = 0;
	ERROR(FLAGS, "has_line_numbers is set");
	x.loc[1].n_lines = 0;
	ERROR(FLAGS, "has_functions is set");
	x.map[0].has_inline_frames = false;
	WARNING(FLAGS, "has_inline_frames is not set, but 1 location has");
	x.map[1].has_inline_frames = true;
	x.map[1].has_functions = false;
	x.loc[1].n_lines = 0;
	ERROR(FLAGS, "has_inline_frames is set, but no location");
	x.fn[0].name = "";
	ERROR(FUNCTION_NAMES, "function 1: no name");
	x.loc[2].address = 0x2000;
	ERROR(ADDRESSES, "location 3: address 0x2000 is outside its mapping '/bin/a'");
	x.loc[0].address = 0xfff;
	ERROR(ADDRESSES, "location 1: address 0xfff");
	x.line[0].function = NULL;
	ERROR(LINES, "location 1: line 1 has no function");
	x.line[1].column = -1;
	ERROR(LINES, "location 1: negative line or column");
	x.fn[0].start_line = -1;
	ERROR(LINES, "function 1: negative start line");
	x.loc[2].mapping = NULL;
	WARNING(LINES, "location 3: neither a mapping nor a function");
}

static void test_samples(void)
{
	x.sample[1].n_locations = 0;
	ERROR(STACKS, "sample 2: no location");
	x.value[2] = -3;
	ERROR(VALUES, "sample 2: negative value -3 of 'samples'");
	x.value[3] = 0;
	WARNING(VALUES, "sample 2: all values are 0");
	x.label[1].str = NULL;
	x.label[1].num = 1;
	WARNING(NUMBERS, "the label 'cpu' is a number");
	x.label[1].key = "";
	ERROR(LABELS, "sample 1: label without a key");
	x.label[2].key = "pprof::base";
	ERROR(LABELS, "sample 2: the key 'pprof::base' is reserved");
	x.label[1].str = NULL;
	ERROR(LABELS, "the number 0 of 'cpu' has no unit");
	x.label[2].num = 4;
	ERROR(LABELS, "label 'pid' is both a string and a number");
	who = PPROF_CONSUMER_PARCA;  /* which reads numbers, but not both */
	x.label[2].str = NULL;
	x.label[2].num = 4;
	ERROR(LABELS, "sample 2: 'pid' is a number here and a string elsewhere");
	x.label[0].str = NULL;
	x.label[0].num = 4;
	ERROR(LABELS, "sample 2: 'pid' is a string here and a number elsewhere");
	x.value[2] = -3;
	finds_nothing("a negative value is no matter for Parca");
	who = PPROF_CONSUMER_ALL;
	x.sample[0].n_labels = 3;
	WARNING(LABELS, "sample 1: two labels 'pid'");

	const struct profile_location *deep[1001];
	for (int i = 0; i < 1001; i++)
		deep[i] = &x.loc[0];
	x.sample[1].location = deep;
	x.sample[1].n_locations = 1001;
	WARNING(LENGTHS, "sample 2: 1001 frames");
	struct profile_label many[101];
	char key[101][8];
	for (int i = 0; i < 101; i++) {
		snprintf(key[i], sizeof(key[i]), "k%d", i);
		many[i] = (struct profile_label){ .key = key[i], .str = "v", .num_unit = "" };
	}
	x.sample[1].label = many;
	x.sample[1].n_labels = 101;
	WARNING(LENGTHS, "sample 2: 101 labels");
}

int main(void)
{
	sound();
	struct seen s = { 0 };
	size_t n_errors = 1, n_warnings = 1;
	tap_int(pprof_check(&x.p, PPROF_CONSUMER_ALL, see, &s, &n_errors, &n_warnings), 0,
		"a valid profile");
	tap_ok(s.n == 0 && n_errors == 0 && n_warnings == 0, "has no findings");
	if (s.n)
		printf("# %s\n", s.text);
	test_head();
	test_symbols();
	test_samples();

	struct profile_function many[50];
	for (int i = 0; i < 50; i++)
		many[i] = (struct profile_function){ (uint64_t)i + 1, "", "", "", 0 };
	x.p.function = many;
	x.p.n_functions = 50;
	pprof_check(&x.p, PPROF_CONSUMER_ALL, see, &s, &n_errors, &n_warnings);
	tap_ok(s.n == PPROF_CHECK_MAX_PER_RULE && n_errors == 50,
	       "all findings of a rule are counted, a few are reported");
	tap_ok(pprof_check(&x.p, PPROF_CONSUMER_ALL, NULL, NULL, &n_errors, NULL) == 0 &&
		       n_errors == 50,
	       "findings can be counted only");
	return tap_done();
}
