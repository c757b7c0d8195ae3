#include "base/err.h"
#include "proto/pprof-read.h"
#include "proto/pprof.h"
#include "sink.h"
#include "tap.h"

static struct profile *finish(struct pprof *p, struct sink *s)
{
	struct profile *back = NULL;
	struct err e = { 0 };
	if (!tap_int(pprof_finish(p, &e), 0, "the profile is finished") ||
	    !tap_int(profile_read(s->bytes.v, s->bytes.n, 0, &back, &e), 0, "and read back"))
		printf("# %s\n", e.what);
	pprof_free(p);
	VEC_FREE(&s->bytes);
	return back;
}

static struct pprof *begin(struct sink *s)
{
	struct pprof *p = NULL;
	struct err e = { 0 };
	tap_int(pprof_new(sink_write, s, 1, &p, &e), 0, "a profile is begun");
	return p;
}

static void test_round_trip(void)
{
	struct sink s = { 0 };
	struct pprof *p = begin(&s);
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	pprof_default_sample_type(p, "cpu");
	pprof_period(p, "cpu", "nanoseconds", 1000);
	pprof_times(p, 17, 18);
	pprof_comment(p, "one");
	pprof_comment(p, "two");
	/* A sample may precede its locations. */
	pprof_sample(p, (uint64_t[]){ 2, 1, 1 }, 3, (int64_t[]){ 3, -4 }, 2, (struct pprof_label[]){
		{ .key = "pid", .str = "12" },
		{ .key = "size", .num = -5, .num_unit = "bytes" },
		{ .key = "cpu", .num = 0, .num_unit = "cpu" },
		{ .key = "plain", .num = 7 },
		{ .key = "lost", .num = 0 },
		{ .key = "empty", .str = "" },
	}, 6);
	tap_int((long long)pprof_mapping(p,
					 &(struct pprof_mapping){ 0x1000, 0x2000, 0x3000, "/bin/x",
								  "ab", true, false, true, false }),
		1, "mapping 1");
	tap_int((long long)pprof_mapping(p, &(struct pprof_mapping){ .filename = "/bin/y",
								     .has_filenames = true,
								     .has_inline_frames = true }),
		2, "mapping 2");
	tap_int((long long)pprof_function(p, &(struct pprof_function){ "f()", "_Z1fv", "f.c", 3 }),
		1, "function 1");
	tap_int((long long)pprof_function(p, &(struct pprof_function){ .name = "g" }), 2,
		"function 2");
	tap_int((long long)pprof_location(p, 1, 0x1010, (struct pprof_line[]){
		{ 2, 11, 4 }, { 1, 12, 0 } }, 2, true), 1, "location 1");
	tap_int((long long)pprof_location(p, 0, UINT64_MAX, NULL, 0, false), 2, "location 2");
	struct profile *b = finish(p, &s);
	if (!b)
		return;

	tap_ok(b->n_sample_types == 2 && strcmp(b->sample_type[1].type, "cpu") == 0 &&
	       strcmp(b->sample_type[1].unit, "nanoseconds") == 0, "sample types");
	tap_str(b->default_sample_type, "cpu", "default sample type");
	tap_ok(b->period == 1000 && strcmp(b->period_type.type, "cpu") == 0 &&
	       strcmp(b->period_type.unit, "nanoseconds") == 0, "period");
	tap_ok(b->time_nanos == 17 && b->duration_nanos == 18, "times");
	tap_ok(b->n_comments == 2 && strcmp(b->comment[0], "one") == 0 &&
	       strcmp(b->comment[1], "two") == 0, "comments in order");
	tap_ok(b->n_mappings == 2 && b->n_functions == 2 && b->n_locations == 2 &&
		       b->n_samples == 1,
	       "all messages are present");
	const struct profile_mapping *m = &b->mapping[0];
	tap_ok(m->memory_start == 0x1000 && m->memory_limit == 0x2000 && m->file_offset == 0x3000 &&
		       strcmp(m->filename, "/bin/x") == 0 && strcmp(m->build_id, "ab") == 0 &&
		       m->has_functions && !m->has_filenames && m->has_line_numbers &&
		       !m->has_inline_frames,
	       "mapping 1 has its fields");
	tap_ok(!m[1].has_functions && m[1].has_filenames && !m[1].has_line_numbers &&
	       m[1].has_inline_frames && m[1].build_id[0] == '\0', "mapping 2 has its fields");
	const struct profile_function *f = &b->function[0];
	tap_ok(strcmp(f->name, "f()") == 0 && strcmp(f->system_name, "_Z1fv") == 0 &&
	       strcmp(f->filename, "f.c") == 0 && f->start_line == 3, "function 1 has its fields");
	tap_ok(strcmp(f[1].name, "g") == 0 && f[1].system_name[0] == '\0' && f[1].start_line == 0,
	       "function 2 has only a name");
	const struct profile_location *l = &b->location[0];
	tap_ok(l->address == 0x1010 && l->mapping == m && l->is_folded && l->n_lines == 2 &&
		       l->line[0].function == &f[1] && l->line[0].line == 11 &&
		       l->line[0].column == 4 && l->line[1].function == &f[0] &&
		       l->line[1].line == 12,
	       "location 1 keeps its inlined functions");
	tap_ok(l[1].address == UINT64_MAX && !l[1].mapping && l[1].n_lines == 0 && !l[1].is_folded,
	       "location 2 is only an address");
	const struct profile_sample *x = &b->sample[0];
	tap_ok(x->n_locations == 3 && x->location[0] == &l[1] && x->location[1] == l &&
	       x->location[2] == l, "the stack is in order");
	tap_ok(x->value[0] == 3 && x->value[1] == -4, "values may be negative");
	tap_int((long long)x->n_labels, 4, "labels that readers would ignore are left out");
	tap_ok(strcmp(x->label[0].key, "pid") == 0 && strcmp(x->label[0].str, "12") == 0,
	       "a string label");
	tap_ok(!x->label[1].str && x->label[1].num == -5 &&
		       strcmp(x->label[1].num_unit, "bytes") == 0,
	       "a numeric label with a unit");
	tap_ok(!x->label[2].str && x->label[2].num == 0 && strcmp(x->label[2].num_unit, "cpu") == 0,
	       "0 with a unit is kept");
	tap_ok(!x->label[3].str && x->label[3].num == 7 && !x->label[3].num_unit[0],
	       "a number without a unit");
	profile_free(b);
}

static void test_strings(void)
{
	struct sink s = { 0 };
	struct pprof *p = begin(&s);
	pprof_comment(p, "a\xff" "b");
	pprof_comment(p, "cut \xe2\x82");
	pprof_comment(p, "same");
	pprof_comment(p, "same");
	pprof_comment(p, "");
	pprof_comment(p, NULL);
	pprof_comment(p, "a\xfe" "b");
	struct profile *b = finish(p, &s);
	if (!b)
		return;
	tap_int((long long)b->n_comments, 5, "an empty comment is left out");
	tap_str(b->comment[0], "a\xef\xbf\xbd" "b", "a stray byte becomes U+FFFD");
	tap_str(b->comment[1], "cut \xef\xbf\xbd\xef\xbf\xbd",
		"as do the bytes of a truncated character");
	tap_ok(b->comment[4] == b->comment[0], "strings that become equal are stored once");
	tap_ok(b->comment[2] == b->comment[3], "equal strings are stored once");
	tap_int((long long)b->n_strings, 4, "\"\" and three more");
	profile_free(b);
}

static void test_empty(void)
{
	struct sink s = { 0 };
	struct profile *b = finish(begin(&s), &s);
	tap_ok(b && b->n_samples == 0 && b->n_strings == 1 && b->string[0][0] == '\0',
	       "an empty profile has a string table");
	profile_free(b);
}

/* Large enough for many flushes, with stacks longer than 127 bytes. */
static void test_large(void)
{
	enum { N_LOCATIONS = 20000, N_SAMPLES = 20000, DEPTH = 80 };
	struct sink s = { 0 };
	struct pprof *p = begin(&s);
	pprof_sample_type(p, "samples", "count");
	for (int i = 0; i < N_LOCATIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%d", i);
		uint64_t f = pprof_function(p, &(struct pprof_function){ .name = name });
		pprof_location(p, 0, (uint64_t)i * 16, &(struct pprof_line){ f, i, 0 }, 1, false);
	}
	for (int i = 0; i < N_SAMPLES; i++) {
		uint64_t id[DEPTH];
		for (int k = 0; k < DEPTH; k++)
			id[k] = (uint64_t)(i * 31 + k * k) % N_LOCATIONS + 1;
		pprof_sample(p, id, DEPTH, &(int64_t){ i }, 1, NULL, 0);
	}
	struct profile *b = finish(p, &s);
	int n_wrong = 0;
	for (int i = 0; b && i < N_SAMPLES; i++) {
		n_wrong += b->sample[i].value[0] != i || b->sample[i].n_locations != DEPTH;
		for (int k = 0; k < DEPTH; k++) {
			int at = (i * 31 + k * k) % N_LOCATIONS;
			char name[32];
			snprintf(name, sizeof(name), "function_%d", at);
			const struct profile_location *l = b->sample[i].location[k];
			n_wrong += l != &b->location[at] ||
				   (i == k && strcmp(name, l->line[0].function->name) != 0);
		}
	}
	tap_ok(b && n_wrong == 0, "1.6 million frames are read back");
	profile_free(b);
}

static void test_failure(void)
{
	struct err e = { 0 };
	for (size_t after = 1; after <= 200001; after += 100000) {
		struct sink s = { .fail_after = after };
		struct pprof *p = NULL;
		pprof_new(sink_write, &s, 0, &p, &e);
		pprof_sample_type(p, "samples", "count");
		uint64_t id = 0;
		for (int i = 0; i < 10000; i++) {
			char name[64];
			snprintf(name, sizeof(name), "a_rather_long_name_%d", i);
			id = pprof_function(p, &(struct pprof_function){ .name = name });
			pprof_sample(p, &id, 1, &(int64_t){ 1 }, 1, NULL, 0);
		}
		tap_int((long long)id, 10000, "ids continue after a failed write");
		tap_int(pprof_finish(p, &e), -ENOSPC, "a failed write sticks until the end");
		tap_str(e.what, "cannot write the profile: No space left on device",
			"the message names the cause");
		pprof_free(p);
		VEC_FREE(&s.bytes);
	}
	pprof_free(NULL);
}

int main(void)
{
	test_round_trip();
	test_strings();
	test_empty();
	test_large();
	test_failure();
	return tap_done();
}
