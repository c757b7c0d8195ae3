/* Small profiles, whose expected sums can be checked by eye. */

#include "base/err.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/model/model.h"
#include "view/table/top.h"

#include <errno.h>

struct table { struct model *m; struct filter *f; struct rows *r; struct top *t; };

static void make(struct table *x, struct build *b, const char *type, enum rows_by by,
		 const char *label, const struct filter_spec *spec)
{
	static const struct filter_spec all;
	struct err e = { 0 };
	uint32_t index = 0;
	*x = (struct table){ 0 };
	int r = model_read(b->sink.bytes.v, b->sink.bytes.n, &x->m, &e);
	if (r == 0)
		r = model_find_type(x->m, type, &index, &e);
	if (r == 0)
		r = filter_new(x->m, spec ? spec : &all, &x->f, &e);
	if (r == 0)
		r = rows_new(x->m, x->f, by, label, &x->r, &e);
	if (r == 0)
		r = top_new(x->m, x->f, x->r, index, &x->t, &e);
	if (r < 0)
		printf("# %s\n", e.what);
	if (r < 0)
		abort();
}

static void done(struct table *x)
{
	top_free(x->t);
	rows_free(x->r);
	filter_free(x->f);
	model_free(x->m);
}

static void row_is(const struct table *x, const char *name, int64_t flat, int64_t cum)
{
	const struct top *t = x->t;
	for (uint32_t i = 0; i < t->n_rows; i++) {
		if (strcmp(top_name(t, i)->name, name) != 0)
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
	struct build b;
	struct table x;
	BUILD(&b, "samples/count cpu/nanoseconds",
	      /* g inlined in f, called by f, called by main: f counts once. */
	      "1,100 g@g.c:3+f@f.c:4 f main", "2,20 f main", "4,3 g@g.c:5 g@g.c:5 main",
	      "8,1000 f@other.c:6 ; thread_name=w tid=7", "16,0 [/usr/lib/libx.so] main",
	      "64,5");
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, NULL);
	tap_int(x.t->total, 1128, "the total includes samples without a stack");
	row_is(&x, "g", 103, 103);
	row_is(&x, "f", 1020, 1120);
	row_is(&x, "main", 0, 123);
	tap_int(x.t->n_rows, 3, "rows without a value are left out");
	tap_str(top_name(x.t, 0)->name, "f", "sorted by flat");
	tap_str(top_name(x.t, 0)->file, "f.c", "a name has its first file");
	tap_ok(top_name(x.t, 1)->is_inlined && top_name(x.t, 1)->is_called,
	       "a function is both inlined and called");
	top_sort(x.t, TOP_BY_CUM);
	tap_str(top_name(x.t, 1)->name, "main", "sorted by cum");
	top_sort(x.t, TOP_BY_NAME);
	tap_str(top_name(x.t, 2)->name, "main", "sorted by name");
	tap_ok(x.t->has_var && x.t->row[0].flat_var == 200 + 1e6 / 8,
	       "the variance of a sum of samples");
	done(&x);
	make(&x, &b, "samples", ROWS_FUNCTION, NULL, NULL);
	row_is(&x, "f", 10, 11);
	row_is(&x, "[libx.so]", 16, 16);
	done(&x);
	make(&x, &b, "samples", ROWS_LINE, NULL, NULL);
	row_is(&x, "g g.c:3", 1, 1);
	row_is(&x, "g g.c:5", 4, 4);
	row_is(&x, "f other.c:6", 8, 8);
	done(&x);
	make(&x, &b, "samples", ROWS_FILE, NULL, NULL);
	row_is(&x, "g.c", 5, 5);
	row_is(&x, "main.c", 0, 23);
	done(&x);
	make(&x, &b, "samples", ROWS_MODULE, NULL, NULL);
	row_is(&x, "[app]", 15, 31);
	row_is(&x, "[libx.so]", 16, 16);
	done(&x);
	make(&x, &b, "samples", ROWS_LABEL, "thread_name", NULL);
	row_is(&x, "w", 8, 8);
	row_is(&x, "(none)", 87, 87);
	struct rows *r = NULL;
	struct err e = { 0 };
	tap_int(rows_new(x.m, NULL, ROWS_LABEL, "cpu", &r, &e), -ENOENT, "an unknown label");
	tap_str(e.hint, "the labels are: thread_name, tid", "the hint names the labels");
	done(&x);
	build_done(&b);
}

static void test_names(void)
{
	struct build b;
	struct table x;
	struct rows *r = NULL;
	struct err e = { 0 };
	BUILD(&b, "samples/count", "1 f ; thread_name=w", "1 g ; thread_name=v name=x tid=7");
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, NULL);
	tap_int(rows_new(x.m, NULL, ROWS_LABEL, "cpu", &r, &e), -ENOENT, "an unknown label");
	tap_str(e.hint, "the labels are: thread_name, name, tid",
		"a key that is part of another key is listed");
	done(&x);
	build_done(&b);

	/* other tools' labels for threads, and a program with one thread */
	BUILD(&b, "samples/count", "1 f ; thread=w", "2 g ; tid=7");
	make(&x, &b, NULL, ROWS_LABEL, "thread_name", NULL);
	row_is(&x, "w", 1, 1);
	row_is(&x, "(none)", 2, 2);
	done(&x);
	build_done(&b);
	BUILD(&b, "samples/count", "1 f ; name=x tid=8", "2 g ; tid=7");
	make(&x, &b, NULL, ROWS_LABEL, "thread_name", NULL);
	row_is(&x, "8", 1, 1);
	row_is(&x, "7", 2, 2);
	done(&x);
	build_done(&b);
	BUILD(&b, "samples/count", "1 f ; name=x", "2 g");
	make(&x, &b, NULL, ROWS_LABEL, "thread_name", NULL);
	row_is(&x, "(all threads)", 3, 3);
	done(&x);
	build_done(&b);

	tap_int(rows_kind_find("module").by, ROWS_MODULE, "a kind of rows is found by name");
	tap_str(rows_kind_find("thread").label, "thread_name", "a thread is a label");
	tap_ok(rows_kind_find("pod").by == ROWS_LABEL &&
	       strcmp(rows_kind_find("pod").label, "pod") == 0, "any other name is a label's key");
	size_t n = 0;
	while (rows_kind_name(n))
		n++;
	tap_int(n, 6, "the names of all kinds");
	tap_str(top_order_name(TOP_BY_CUM), "cum", "the name of an order");
	tap_ok(!top_order_name(TOP_N_ORDERS), "there are no further orders");
}

static void test_extremes(void)
{
	struct build b;
	struct table x;
	BUILD(&b, "samples/count cpu/nanoseconds", "9223372036854775807,-3 f",
	      "9223372036854775807,-4 f", "-9223372036854775807,5 g", "-9223372036854775807,1 g");
	make(&x, &b, "samples", ROWS_FUNCTION, NULL, NULL);
	row_is(&x, "f", INT64_MAX, INT64_MAX);
	row_is(&x, "g", INT64_MIN, INT64_MIN);
	tap_int(x.t->total, INT64_MAX, "sums saturate");
	done(&x);
	make(&x, &b, "cpu", ROWS_FUNCTION, NULL, NULL);
	tap_int(x.t->total, 13, "the total adds absolute values");
	tap_str(top_name(x.t, 0)->name, "f", "the order uses absolute values");
	row_is(&x, "f", -7, -7);
	done(&x);
	build_done(&b);
	build_profile(&b, "samples/count", NULL, 0);
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, NULL);
	tap_ok(x.t->n_rows == 0 && x.t->total == 0, "no samples, no rows");
	done(&x);
	build_done(&b);
	top_free(NULL);
}

static void filtered(struct build *b, struct filter_spec spec, const char *name, int64_t flat,
		     int64_t cum, int64_t shown)
{
	struct table x;
	make(&x, b, "samples", ROWS_FUNCTION, NULL, &spec);
	row_is(&x, name, flat, cum);
	tap_int(x.t->shown, shown, "the sum of the samples that pass");
	tap_int(x.t->total, 31, "the total is not filtered");
	done(&x);
}

#define TAGS(...) (const char *const[]){ __VA_ARGS__ }

static void test_filters(void)
{
	struct build b;
	BUILD(&b, "samples/count", "1 g+f main ; tid=12 bytes=4096:bytes",
	      "2 f main ; tid=123 bytes=64:bytes", "4 h f main ; tid=1 thread_name=worker-1",
	      "8 h main", "16 [/usr/lib/libx.so] main");
	filtered(&b, (struct filter_spec){ .regex[FILTER_FOCUS] = "^f$" }, "main", 0, 7, 7);
	filtered(&b, (struct filter_spec){ .regex[FILTER_FOCUS] = "libx" }, "main", 0, 16, 16);
	filtered(&b, (struct filter_spec){ .regex[FILTER_IGNORE] = "^[fh]\\.c" }, "main", 0, 16,
		 16);
	filtered(&b, (struct filter_spec){ .regex = { [FILTER_FOCUS] = "f",
					      [FILTER_IGNORE] = "(?i)G" } }, "f", 2, 6, 6);
	filtered(&b, (struct filter_spec){ .regex[FILTER_HIDE] = "^g$|^h$" }, "f", 7, 7, 31);
	filtered(&b, (struct filter_spec){ .regex[FILTER_HIDE] = "libx" }, "main", 16, 31, 31);
	filtered(&b, (struct filter_spec){ .regex[FILTER_SHOW] = "^f$" }, "f", 7, 7, 7);
	filtered(&b, (struct filter_spec){ .tag = TAGS("tid=12"), .n_tags = 1 }, "g", 1, 1, 1);
	filtered(&b, (struct filter_spec){ .tag = TAGS("tid=12,1"), .n_tags = 1 }, "f", 0, 5, 5);
	filtered(&b, (struct filter_spec){ .tag = TAGS("tid=^12"), .n_tags = 1 }, "f", 2, 3, 3);
	filtered(&b, (struct filter_spec){ .tag = TAGS("bytes=4kb"), .n_tags = 1 }, "g", 1, 1, 1);
	filtered(&b, (struct filter_spec){ .tag = TAGS("bytes=:1kb"), .n_tags = 1 }, "f", 2, 2, 2);
	filtered(&b, (struct filter_spec){ .tag = TAGS("bytes=1b:", "tid=123"), .n_tags = 2 }, "f",
		 2, 2, 2);
	filtered(&b, (struct filter_spec){ .tag = TAGS("thread_name=work.*\\d"), .n_tags = 1 }, "h",
		 4, 4, 4);
	struct table x;
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, NULL);
	struct filter *f = NULL;
	struct err e = { 0 };
	tap_int(filter_new(x.m, &(struct filter_spec){ .regex[FILTER_FOCUS] = "(" }, &f, &e),
		-EINVAL, "a bad expression is refused");
	tap_ok(e.is_usage && strstr(e.what, "--focus '('"), "as wrong usage, with its option");
	tap_int(filter_new(x.m, &(struct filter_spec){ .tag = TAGS("tid"), .n_tags = 1 }, &f, &e),
		-EINVAL, "a tag without a value is refused");
	tap_int(filter_new(x.m, &(struct filter_spec){ .regex[FILTER_FOCUS] = "zzz" }, &f, &e), 0,
		"a filter without a match is accepted");
	tap_ok(f->missed[FILTER_FOCUS] && !f->missed[FILTER_HIDE], "and reported");
	filter_free(f);
	done(&x);
	build_done(&b);
}

/* Waits: their flat cost belongs to the program's function, and idle threads are left out. */
static void test_waits(void)
{
	struct build b;
	struct table x;
	BUILD(&b, "switches/count off_cpu/nanoseconds",
	      "1,100 [[kernel.kallsyms]] [/lib/libc.so.6] fetch main "
	      "; state=blocked thread_name=w-1",
	      "1,20 [[kernel.kallsyms]] fetch main ; state=running thread_name=w-12",
	      "1,3 [[kernel.kallsyms]] [/lib/libc.so.6] ; state=blocked thread_name=main",
	      "1,4 [[kernel.kallsyms]] release main ; waiter=w-1 thread_name=main",
	      "1,1000 [/lib/libc.so.6] loop ; state=blocked idle=event-loop thread_name=w-2",
	      "1,2000 [/lib/libc.so.6] worker ; state=blocked idle=pool thread_name=w-3",
	      "1,5 odd ; state=blocked idle=no thread_name=main");
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, NULL);
	tap_int(x.t->total, 132, "the total is without idle threads");
	row_is(&x, "fetch", 100, 120);
	row_is(&x, "release", 4, 4);
	row_is(&x, "[kernel.kallsyms]", 23, 127);
	row_is(&x, "[libc.so.6]", 0, 103);
	row_is(&x, "loop", 0, 0);
	row_is(&x, "odd", 5, 5);
	done(&x);
	make(&x, &b, NULL, ROWS_FUNCTION, NULL,
	     &(struct filter_spec){ .regex[FILTER_HIDE] = "fetch|release" });
	row_is(&x, "main", 104, 124);
	done(&x);
	make(&x, &b, NULL, ROWS_FUNCTION, NULL,
	     &(struct filter_spec){ .regex[FILTER_HIDE] = "fetch|release|main|odd" });
	row_is(&x, "[kernel.kallsyms]", 127, 127);
	done(&x);
	make(&x, &b, NULL, ROWS_FUNCTION, NULL, &(struct filter_spec){ .keep_idle = true });
	tap_int(x.t->total, 3132, "with them");
	row_is(&x, "loop", 1000, 1000);
	done(&x);
	make(&x, &b, NULL, ROWS_LABEL, ROWS_POOL_LABEL,
	     &(struct filter_spec){ .keep_idle = true });
	row_is(&x, "w-#", 3120, 3120);
	row_is(&x, "main", 12, 12);
	tap_int(x.t->n_rows, 2, "threads with numbers are one pool");
	done(&x);
	build_done(&b);
	BUILD(&b, "switches/count off_cpu/nanoseconds", "1,5 f ; tid=7", "1,6 g ; tid=8");
	make(&x, &b, NULL, ROWS_LABEL, ROWS_POOL_LABEL, NULL);
	row_is(&x, "(all threads)", 11, 11);
	done(&x);
	build_done(&b);
}

int main(void)
{
	test_counting();
	test_names();
	test_extremes();
	test_filters();
	test_waits();
	return tap_done();
}
