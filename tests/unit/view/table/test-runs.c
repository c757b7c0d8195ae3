/* The values of each run, and which profiles have runs and pairs. */

#include "base/err.h"
#include "tap.h"
#include "view/model/model-merge.h"
#include "view/profile-build.h"
#include "view/table/runs.h"

struct side { struct build b; struct model *m; struct rows *r; struct runs *runs; };

static void load(struct side *s, const char *const *line, size_t n, const char *comment)
{
	struct err e = { 0 };
	build_profile(&s->b, "samples/count cpu/nanoseconds", line, n);
	if (model_read(s->b.sink.bytes.v, s->b.sink.bytes.n, &s->m, &e) < 0 ||
	    (comment && model_add_comment(s->m, comment, &e) < 0) ||
	    rows_new(s->m, NULL, ROWS_FUNCTION, NULL, &s->r, &e) < 0 ||
	    runs_new(s->m, NULL, s->r, 1, &s->runs, &e) < 0)
		abort();
}

#define LOAD(s, comment, ...) \
	load(s, (const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), comment)

static void forget(struct side *s)
{
	runs_free(s->runs);
	rows_free(s->r);
	model_free(s->m);
	build_done(&s->b);
}

static double value_of(const struct side *s, const double *values, const char *name, uint32_t run)
{
	for (uint32_t i = 0; i < s->r->n_rows; i++)
		if (strcmp(s->r->row[i].name, name) == 0)
			return values[i * s->runs->n + run];
	return -1;
}

static void test_values(void)
{
	struct side s;
	LOAD(&s, NULL, "1,10 f main ; cprof::run=7", "2,20 g main ; cprof::run=7 thread=a",
	     "4,40 f f main ; cprof::run=2");
	tap_ok(s.runs && s.runs->n == 2, "two runs");
	tap_ok(s.runs->number[0] == 2 && s.runs->number[1] == 7, "in the order of their numbers");
	tap_ok(s.runs->total[0] == 40 && s.runs->total[1] == 30, "totals");
	tap_ok(value_of(&s, s.runs->flat, "f", 0) == 40 && value_of(&s, s.runs->flat, "f", 1) == 10,
	       "flat");
	tap_ok(value_of(&s, s.runs->cum, "f", 0) == 40, "a recursive function counts once");
	tap_ok(value_of(&s, s.runs->cum, "main", 1) == 30, "cum adds up other labels");
	tap_ok(value_of(&s, s.runs->flat, "g", 0) == 0, "a function can be missing in a run");
	forget(&s);
}

static void test_none(void)
{
	struct side s;
	LOAD(&s, NULL, "1,10 f", "1,10 g");
	tap_ok(!s.runs, "no label: no runs");
	forget(&s);
	LOAD(&s, NULL, "1,10 f ; cprof::run=1", "1,10 g ; cprof::run=1");
	tap_ok(!s.runs, "one run is not enough");
	forget(&s);
	LOAD(&s, NULL, "1,10 f ; cprof::run=1", "1,10 g ; cprof::run=2", "1,10 h");
	tap_ok(!s.runs, "a sample that belongs to no run: no runs");
	forget(&s);
	LOAD(&s, NULL, "1,10 f ; cprof::run=a", "1,10 g ; cprof::run=b");
	tap_ok(!s.runs, "the numbers must be numbers");
	forget(&s);
}

static bool are_pairs(const struct side *a, const struct side *b)
{
	return runs_are_pairs(a->m, a->runs, b->m, b->runs);
}

static void test_pairs(void)
{
	struct side a, b, other, longer, plain;
	LOAD(&a, MODEL_PAIRS_NOTE "x", "1,10 f ; cprof::run=1", "1,10 f ; cprof::run=2");
	LOAD(&b, MODEL_PAIRS_NOTE "x", "1,10 g ; cprof::run=1", "1,10 g ; cprof::run=2");
	LOAD(&other, MODEL_PAIRS_NOTE "y", "1,10 g ; cprof::run=1", "1,10 g ; cprof::run=2");
	LOAD(&longer, MODEL_PAIRS_NOTE "x", "1,10 g ; cprof::run=1", "1,10 g ; cprof::run=3");
	LOAD(&plain, NULL, "1,10 g ; cprof::run=1", "1,10 g ; cprof::run=2");
	tap_ok(are_pairs(&a, &b), "one comment and the same numbers: pairs");
	tap_ok(!are_pairs(&a, &other), "another comment: no pairs");
	tap_ok(!are_pairs(&a, &longer), "other numbers: no pairs");
	tap_ok(!are_pairs(&a, &plain) && !are_pairs(&plain, &plain), "no comment: no pairs");
	forget(&a);
	forget(&b);
	forget(&other);
	forget(&longer);
	forget(&plain);
}

int main(void)
{
	test_values();
	test_none();
	test_pairs();
	return tap_done();
}
