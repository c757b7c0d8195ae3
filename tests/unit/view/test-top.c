/* Small profiles built as structs, so that what is expected can be added up by eye. */

#include "base/err.h"
#include "proto/pprof-read.h"
#include "tap.h"
#include "view/top.h"

#include <errno.h>

static struct profile_mapping map = { .id = 1, .filename = "/usr/lib/libx.so" };
static struct profile_mapping nameless = { .id = 2, .filename = "" };
static struct profile_function fn[] = {
	{ 1, "main", "main", "main.c", 1 }, { 2, "f", "f", "f.c", 1 }, { 3, "g", "g", "", 1 },
	/* The same name as f, at another place: a static function of another file. */
	{ 4, "f", "f", "other.c", 9 },
};
static struct profile_line at_main[] = { { &fn[0], 1, 0 } }, at_f[] = { { &fn[1], 2, 0 } },
	g_in_f[] = { { &fn[2], 3, 0 }, { &fn[1], 4, 0 } }, at_g[] = { { &fn[2], 5, 0 } },
	at_other_f[] = { { &fn[3], 6, 0 } }, no_function[] = { { NULL, 1, 0 } };
enum { MAIN, F, G_IN_F, G, OTHER_F, STRIPPED, NAMELESS, NOWHERE, NO_FUNCTION };
static struct profile_location loc[] = {
	[MAIN] = { 1, 0x10, &map, at_main, 1, false },
	[F] = { 2, 0x20, &map, at_f, 1, false },
	[G_IN_F] = { 3, 0x30, &map, g_in_f, 2, false },
	[G] = { 4, 0x40, &map, at_g, 1, false },
	[OTHER_F] = { 5, 0x50, &map, at_other_f, 1, false },
	[STRIPPED] = { 6, 0x60, &map, NULL, 0, false },
	[NAMELESS] = { 7, 0x70, &nameless, NULL, 0, false },
	[NOWHERE] = { 8, 0x80, NULL, NULL, 0, false },
	[NO_FUNCTION] = { 9, 0x90, &map, no_function, 1, false },
};
static struct profile_value_type types[] = { { "samples", "count" }, { "cpu", "nanoseconds" } };

static struct profile profile_of(struct profile_sample *samples, size_t n)
{
	return (struct profile){
		.sample_type = types, .n_sample_types = 2, .sample = samples, .n_samples = n,
		.location = loc, .n_locations = sizeof(loc) / sizeof(*loc),
		.function = fn, .n_functions = 4, .mapping = &map, .n_mappings = 1,
		.default_sample_type = "cpu", .period_type = { "cpu", "nanoseconds" },
		.period = 10, .time_nanos = 20, .duration_nanos = 30,
	};
}

#define STACK(...) (const struct profile_location *[]){ __VA_ARGS__ }
#define VALUES(...) (int64_t[]){ __VA_ARGS__ }

static void row_is(const struct top *t, const char *name, int64_t flat, int64_t cum)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		if (strcmp(t->row[i].name, name) != 0)
			continue;
		if (!tap_ok(t->row[i].flat == flat && t->row[i].cum == cum,
			    "%s: flat %lld, cum %lld", name, (long long)flat, (long long)cum))
			printf("# got %lld %lld\n", (long long)t->row[i].flat,
			       (long long)t->row[i].cum);
		return;
	}
	tap_ok(flat == 0 && cum == 0, "%s: flat %lld, cum %lld (no row)", name, (long long)flat,
	       (long long)cum);
}

static void test_counting(void)
{
	struct profile_sample s[] = {
		/* g inlined in f, called by f, called by main: f counts once. */
		{ STACK(&loc[G_IN_F], &loc[F], &loc[MAIN]), VALUES(1, 100), NULL, 3, 0 },
		{ STACK(&loc[F], &loc[MAIN]), VALUES(2, 20), NULL, 2, 0 },
		{ STACK(&loc[G], &loc[G], &loc[MAIN]), VALUES(4, 3), NULL, 3, 0 },
		{ STACK(&loc[OTHER_F]), VALUES(8, 1000), NULL, 1, 0 },
		{ STACK(&loc[STRIPPED], &loc[NAMELESS], &loc[MAIN]), VALUES(16, 0), NULL, 3, 0 },
		{ STACK(&loc[NOWHERE], &loc[NO_FUNCTION]), VALUES(32, 0), NULL, 2, 0 },
		{ STACK(NULL), VALUES(64, 5), NULL, 0, 0 },
	};
	struct profile p = profile_of(s, 7);
	struct top *t = NULL;
	struct err e = { 0 };
	tap_int(top_of_profile(&p, NULL, &t, &e), 0, "the default sample type");
	tap_str(t->type, "cpu", "is the one that the profile names");
	tap_str(t->unit, "nanoseconds", "with its unit");
	tap_int(t->total, 1128, "the total holds samples without a stack");
	row_is(t, "g", 103, 103);
	row_is(t, "f", 1020, 1120);
	row_is(t, "main", 0, 123);
	tap_int((long long)t->n_rows, 3, "rows without any value are left out");
	tap_ok(strcmp(t->row[0].name, "f") == 0 && strcmp(t->row[1].name, "g") == 0, "by flat");
	tap_str(t->row[0].filename, "f.c", "the first file of a name");
	tap_ok(t->row[1].is_inlined && t->row[1].is_called, "g was inlined and called");
	tap_ok(!t->row[0].is_inlined && t->row[0].is_called, "f was only called");
	top_sort(t, TOP_BY_CUM);
	tap_ok(strcmp(t->row[1].name, "main") == 0 && strcmp(t->row[2].name, "g") == 0, "by cum");
	tap_ok(t->period == 10 && t->time_ns == 20 && t->duration_ns == 30 && t->n_samples == 7 &&
	       strcmp(t->period_type, "cpu") == 0 && strcmp(t->binary, map.filename) == 0,
	       "facts of the profile");
	top_free(t);

	tap_int(top_of_profile(&p, "samples", &t, &e), 0, "another sample type");
	tap_int(t->total, 127, "total");
	row_is(t, "f", 10, 11);
	row_is(t, "[libx.so]", 16, 48);
	row_is(t, "<unknown>", 32, 48);
	top_free(t);

	p.default_sample_type = "nonsense";
	tap_int(top_of_profile(&p, NULL, &t, &e), 0, "a default that does not exist");
	tap_str(t->type, "cpu", "means the last type");
	top_free(t);
	t = NULL;
	tap_int(top_of_profile(&p, "wall", &t, &e), -ENOENT, "an unknown type");
	tap_ok(t == NULL && strcmp(e.what, "no sample type 'wall' in the profile") == 0 &&
		       strcmp(e.hint, "it has: samples, cpu") == 0,
	       "is an error that names those there are");
	p.n_sample_types = 0;
	tap_int(top_of_profile(&p, NULL, &t, &e), -ENOENT, "no sample types at all");
}

static void test_extremes(void)
{
	struct profile_sample s[] = {
		{ STACK(&loc[F]), VALUES(INT64_MAX, -3), NULL, 1, 0 },
		{ STACK(&loc[F]), VALUES(INT64_MAX, -4), NULL, 1, 0 },
		{ STACK(&loc[G]), VALUES(INT64_MIN, 5), NULL, 1, 0 },
		{ STACK(&loc[G]), VALUES(INT64_MIN, 1), NULL, 1, 0 },
	};
	struct profile p = profile_of(s, 4);
	struct top *t = NULL;
	struct err e = { 0 };
	tap_int(top_of_profile(&p, "samples", &t, &e), 0, "values at the ends of their range");
	row_is(t, "f", INT64_MAX, INT64_MAX);
	row_is(t, "g", INT64_MIN, INT64_MIN);
	tap_int(t->total, INT64_MAX, "saturate");
	top_free(t);
	tap_int(top_of_profile(&p, "cpu", &t, &e), 0, "negative values, as of a difference");
	tap_int(t->total, 13, "count with their absolute in the total");
	tap_str(t->row[0].name, "f", "and in the order");
	row_is(t, "f", -7, -7);
	top_free(t);

	p = profile_of(NULL, 0);
	tap_int(top_of_profile(&p, NULL, &t, &e), 0, "no samples");
	tap_ok(t->n_rows == 0 && t->total == 0, "no rows");
	top_free(t);
	top_free(NULL);
	tap_int(top_of_file("/does/not/exist", NULL, &t, &e), -ENOENT, "a missing file");
}

int main(void)
{
	test_counting();
	test_extremes();
	return tap_done();
}
