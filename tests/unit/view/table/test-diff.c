/*
 * Two recordings of one program at different rates differ only by chance; a function that became 3
 * % slower is found.  The profiles come from a fixed random sequence, so the results are constant.
 */

#include "base/err.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/table/diff.h"
#include "view/table/failif.h"

#include <errno.h>
#include <math.h>

struct side { struct build b; struct model *m; struct rows *r; struct top *t; };

#define N_FUNCTIONS 12

static uint64_t seed = 42;
static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 0x1p53;
}

/* A random number with mean n and standard deviation sqrt(n), close to a Poisson distribution. */
static long draw(double n)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += uniform();
	double value = n + sum * sqrt(n);
	return value < 0 ? 0 : (long)(value + 0.5);
}

/* Function k has the share 1/2, 1/4, ...; f0 takes `factor` times as long. */
static void record(struct side *s, double samples, long period_ns, double factor)
{
	char text[N_FUNCTIONS][80];
	const char *line[N_FUNCTIONS];
	struct err e = { 0 };
	for (int k = 0; k < N_FUNCTIONS; k++) {
		double share = ldexp(1, -k - 1);
		long n = draw(samples * share * (k == 0 ? factor : 1));
		snprintf(text[k], sizeof(text[k]), "%ld,%ld f%d main", n, n * period_ns, k);
		line[k] = text[k];
	}
	build_profile(&s->b, "samples/count cpu/nanoseconds", line, N_FUNCTIONS);
	if (model_read(s->b.sink.bytes.v, s->b.sink.bytes.n, &s->m, &e) < 0 ||
	    rows_new(s->m, NULL, ROWS_FUNCTION, NULL, &s->r, &e) < 0 ||
	    top_new(s->m, NULL, s->r, 1, &s->t, &e) < 0)
		abort();
}

static void forget(struct side *s)
{
	top_free(s->t);
	rows_free(s->r);
	model_free(s->m);
	build_done(&s->b);
}

static struct diff *compare(const struct side *a, const struct side *b, enum diff_norm norm)
{
	struct diff *d = NULL;
	struct err e = { 0 };
	struct diff_input from = { .top = a->t, .seconds = 10 };
	struct diff_input to = { .top = b->t, .seconds = 10 };
	if (diff_new(&from, &to, 1, norm, &d, &e) < 0)
		abort();
	return d;
}

/* f0 takes twice as long, so all shares change, but only f0 grows like the total. */
static void test_largest(void)
{
	static const enum diff_norm norms[] = { DIFF_SHARE, DIFF_PER_SECOND, DIFF_ABSOLUTE };
	const struct diff_change *c = NULL;
	struct side a, b;
	record(&a, 20000, 1000000, 1);
	record(&b, 20000, 1000000, 2);
	for (int i = 0; i < 3; i++) {
		struct diff *d = compare(&a, &b, norms[i]);
		const struct diff_row *x = diff_largest(d, &c);
		tap_ok(x && strcmp(x->row->name, "f0") == 0 && c == &x->flat,
		       "norm %d: the largest change is that of the slower function", i);
		tap_ok(d->absolute.is_significant && d->absolute.delta > 9e9 &&
			       fabs(d->absolute.delta) > 20 * d->absolute.se,
		       "norm %d: the total has grown", i);
		diff_free(d);
	}
	struct diff *d = compare(&a, &a, DIFF_SHARE);
	tap_ok(!diff_largest(d, &c) && !d->absolute.is_significant, "nothing changed");
	diff_free(d);
	forget(&a);
	forget(&b);
}

static void test_same(void)
{
	static const enum diff_norm norms[] = { DIFF_SHARE, DIFF_PER_SECOND, DIFF_ABSOLUTE };
	unsigned int n_marked = 0, n_beyond_2 = 0, n_rows = 0;
	for (int round = 0; round < 60; round++) {
		struct side a, b;
		/* 10 s at 100 and at 1000 Hz */
		record(&a, 1000, 10000000, 1);
		record(&b, 10000, 1000000, 1);
		struct diff *d = compare(&a, &b, norms[round % 3]);
		n_marked += d->n_significant;
		for (uint32_t i = 0; i < d->n_rows; i++) {
			n_rows++;
			n_beyond_2 += fabs(d->row[i].flat.delta) > 2 * d->row[i].flat.se &&
				      d->row[i].flat.se > 0;
		}
		diff_free(d);
		forget(&a);
		forget(&b);
	}
	tap_int(n_marked, 0, "100 Hz against 1000 Hz: nothing is significant in 60 comparisons");
	tap_ok(n_beyond_2 * 100 < n_rows * 8 && n_beyond_2 > 0,
	       "the standard error is neither too small nor absurd (%u of %u beyond two)",
	       n_beyond_2, n_rows);
}

static void test_planted(void)
{
	struct side a, b;
	record(&a, 1e6, 1000000, 1);
	record(&b, 1e6, 1000000, 1.03);
	struct diff *d = compare(&a, &b, DIFF_ABSOLUTE);
	tap_int(d->n_significant, 2, "3 % more in one function: it and its caller are significant");
	tap_ok(strcmp(d->row[0].row->name, "f0") == 0 && d->row[0].flat.is_significant,
	       "the function is first");
	tap_ok(fabs(d->row[0].flat.delta / d->row[0].flat.base.value - 0.03) < 0.01,
	       "by 3 %% (%.4f)", d->row[0].flat.delta / d->row[0].flat.base.value);
	diff_free(d);
	d = compare(&a, &b, DIFF_SHARE);
	const struct diff_row *f0 = diff_find(d, "f0");
	tap_ok(f0->flat.is_significant && f0->flat.delta > 0.005 && f0->flat.delta < 0.01,
	       "its share has changed, too (%+.4f +- %.4f)", f0->flat.delta, f0->flat.se);
	tap_ok(fabs(f0->flat.se - sqrt(2 * 0.25 / 1e6)) < 5e-5,
	       "the standard error is sqrt(2 p q / n)");
	tap_ok(diff_find(d, "nothing") == NULL, "an unknown name is not found");
	diff_free(d);
	struct err e = { 0 };
	d = NULL;
	struct diff_input from = { .top = a.t }, to = { .top = b.t, .seconds = 10 };
	tap_int(diff_new(&from, &to, 1, DIFF_PER_SECOND, &d, &e), -EINVAL,
		"values per second need a duration");
	forget(&a);
	forget(&b);
}

/* ---- runs ---------------------------------------------------------------------------------- */

#define N_RUNS 12
#define RUN_SAMPLES 100000

struct repeated { struct side side; struct runs *runs; };

/* f0 has about half of the samples; in each run, the machine moves that by `common`, the same
 * for both sides of a pair, and by chance.  f0 takes `factor` times as long. */
static void repeat(struct repeated *x, const double *common, double factor)
{
	char text[2 * N_RUNS][80];
	const char *line[2 * N_RUNS];
	struct err e = { 0 };
	for (int run = 0; run < N_RUNS; run++) {
		double mine = 0.5 + common[run] + 0.01 * (uniform() - 0.5);
		long f0 = draw(RUN_SAMPLES * mine * factor), f1 = draw(RUN_SAMPLES * (1 - mine));
		char *a = text[2 * run], *b = text[2 * run + 1];
		snprintf(a, 80, "%ld,%ld f0 main ; cprof::run=%d", f0, f0 * 1000, run + 1);
		snprintf(b, 80, "%ld,%ld f1 main ; cprof::run=%d", f1, f1 * 1000, run + 1);
		line[2 * run] = a;
		line[2 * run + 1] = b;
	}
	struct side *s = &x->side;
	build_profile(&s->b, "samples/count cpu/nanoseconds", line, 2 * N_RUNS);
	if (model_read(s->b.sink.bytes.v, s->b.sink.bytes.n, &s->m, &e) < 0 ||
	    rows_new(s->m, NULL, ROWS_FUNCTION, NULL, &s->r, &e) < 0 ||
	    top_new(s->m, NULL, s->r, 1, &s->t, &e) < 0 ||
	    runs_new(s->m, NULL, s->r, 1, &x->runs, &e) < 0)
		abort();
}

static void draw_common(double *common)
{
	for (int i = 0; i < N_RUNS; i++)
		common[i] = 0.1 * (uniform() - 0.5);
}

enum how { WITHOUT_RUNS, WITH_RUNS, WITH_PAIRS };

/* Is the change of f0 significant, when f0 takes `factor` times as long? */
static bool finds(enum how how, enum diff_norm norm, double factor)
{
	double common[2][N_RUNS];
	struct repeated a, b;
	struct diff *d = NULL;
	struct err e = { 0 };
	draw_common(common[0]);
	draw_common(common[1]);
	repeat(&a, common[0], 1);
	repeat(&b, common[how != WITH_PAIRS], factor);
	struct diff_input from = { .top = a.side.t, .seconds = 10 }, to = from;
	to.top = b.side.t;
	from.runs = how == WITHOUT_RUNS ? NULL : a.runs;
	to.runs = how == WITHOUT_RUNS ? NULL : b.runs;
	from.has_pairs = to.has_pairs = how == WITH_PAIRS;
	if (diff_new(&from, &to, 1, norm, &d, &e) < 0)
		abort();
	bool found = diff_find(d, "f0")->flat.is_significant;
	diff_free(d);
	runs_free(a.runs);
	runs_free(b.runs);
	forget(&a.side);
	forget(&b.side);
	return found;
}

static unsigned count(enum how how, enum diff_norm norm, double factor)
{
	unsigned n = 0;
	for (int i = 0; i < 60; i++)
		n += finds(how, norm, factor);
	return n;
}

static void test_runs(void)
{
	static const enum diff_norm norms[] = { DIFF_SHARE, DIFF_PER_SECOND, DIFF_ABSOLUTE };
	for (int i = 0; i < 3; i++) {
		unsigned n = count(WITHOUT_RUNS, norms[i], 1);
		tap_ok(n > 30, "norm %d: if runs differ, their sum is no sample (%u of 60)", i, n);
		tap_int(count(WITH_RUNS, norms[i], 1), 0, "with runs nothing is significant");
		tap_int(count(WITH_PAIRS, norms[i], 1), 0, "nor in pairs");
		tap_int(count(WITH_PAIRS, norms[i], 1.06), 60, "6 % more is found in pairs");
		n = count(WITH_RUNS, norms[i], 1.06);
		tap_ok(n < 30, "hardly without pairs (%u of 60)", n);
		tap_int(count(WITH_RUNS, norms[i], 1.6), 60, "but 60 % more are");
	}
}

static void gate(const struct diff *d, const char *text, int want)
{
	struct failif g;
	struct err e = { 0 };
	const struct diff_row *row;
	int r = failif_parse(&g, text, &e);
	if (r == 0)
		r = failif_holds(&g, d, "nanoseconds", &row, &e);
	failif_done(&g);
	if (!tap_int(r, want, text))
		printf("# %s\n", e.what);
}

static void test_gates(void)
{
	struct side a, b;
	record(&a, 1e6, 1000000, 1);
	record(&b, 1e6, 1000000, 1.2);
	struct diff *share = compare(&a, &b, DIFF_SHARE), *abs = compare(&a, &b, DIFF_ABSOLUTE);
	gate(share, "flat(f0) > +2%", 1);
	gate(share, "flat(f0)>+4%", 1);
	gate(share, "flat(f0) > +5%", 0);
	gate(share, "flat(f1) < -1%", 1);
	gate(share, "flat(f1) > +0%", 0);
	gate(share, "flat(*) > +2%", 1);
	gate(share, "flat(*) > +6%", 0);
	gate(share, "cum(main) >= 99.9%", 1);
	gate(share, "flat(f0) > 60%", 0);
	gate(share, "  flat( f0) > 1%", -ENOENT);
	gate(share, "flat(zzz) > 1%", -ENOENT);
	gate(share, "flat(f0) > +5ms", -EINVAL);
	gate(share, "total > +1%", -EINVAL);
	gate(abs, "total > +8%", 1);
	gate(abs, "total > +15%", 0);
	gate(abs, "flat(f0) > +19%", 1);
	gate(abs, "flat(f0) > +60s", 1);
	gate(abs, "flat(f0) > +200s", 0);
	gate(abs, "flat(f0) > 590s", 1);
	gate(abs, "flat(f0) > +5kB", -EINVAL);
	gate(abs, "flat(f5) > +0%", 0);  /* within chance */
	static const char *const bad[] = { "", "flat", "flat(f0)", "flat(f0) > ", "flat(f0) > x",
					   "flat() > 1%", "bent(f) > 1%", "flat(f) > 1%%",
					   "> 1%", "flat(f) = 1%", "flat(f) > +" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		gate(share, bad[i], -EINVAL);
	diff_free(share);
	diff_free(abs);
	forget(&a);
	forget(&b);
}

int main(void)
{
	test_largest();
	test_same();
	test_planted();
	test_runs();
	test_gates();
	return tap_done();
}
