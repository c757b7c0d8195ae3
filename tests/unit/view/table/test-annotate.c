/* The cost of lines and of addresses. */

#include "base/err.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/model/model.h"
#include "view/table/annotate.h"

#include <errno.h>

static struct model *model_of(struct build *b)
{
	struct model *m = NULL;
	struct err e = { 0 };
	if (model_read(b->sink.bytes.v, b->sink.bytes.n, &m, &e) < 0)
		abort();
	return m;
}

static const struct annotate_spot *spot_at(const struct annotate *a, uint64_t at)
{
	static const struct annotate_spot none;
	for (size_t i = 0; i < a->n_spots; i++)
		if (a->spot[i].at == at)
			return &a->spot[i];
	return &none;
}

static void test_lines(void)
{
	struct build b;
	struct annotate *a = NULL;
	struct err e = { 0 };
	/* A recursive f, which counts once per sample. */
	BUILD(&b, "samples/count", "1 g@g.c:3 f@f.c:10 main", "2 f@f.c:12 f@f.c:10 main",
	      "4 g@g.c:3 main", "8 f2@f.c:30 main");
	struct model *m = model_of(&b);
	tap_int(annotate_new(m, NULL, 0, "^f$", false, &a, &e), 0, "a function is annotated");
	tap_int(a->n_functions, 1, "others do not match");
	tap_int(a->total, 15, "the total is that of the profile");
	tap_ok(a->function[0].flat == 2 && a->function[0].cum == 3, "the costs of the function");
	tap_ok(spot_at(a, 12)->flat == 2 && spot_at(a, 12)->cum == 2,
	       "the costs of the leaf's line");
	tap_ok(spot_at(a, 10)->flat == 0 && spot_at(a, 10)->cum == 3,
	       "the costs of a calling line");
	annotate_free(a);
	a = NULL;
	tap_int(annotate_new(m, NULL, 0, "f", false, &a, &e), 0, "several functions match");
	tap_str(a->function[0].name, "f2", "the most expensive is first");
	annotate_free(a);
	a = NULL;
	tap_int(annotate_new(m, NULL, 0, "h", false, &a, &e), -ENOENT, "no function matches");
	tap_int(annotate_new(m, NULL, 0, "(", false, &a, &e), -EINVAL, "a bad expression");
	model_free(m);
	build_done(&b);
}

static void test_sum(void)
{
	struct annotate_spot spot[] = {
		{ .at = 5, .flat = 100, .cum = 100 },
		{ .at = 0x1000, .flat = 1, .cum = 2 }, { .at = 0x1004, .flat = 2, .cum = 4 },
		{ .at = 0x1005, .flat = 4, .cum = 8 }, { .at = 0x1010, .flat = 8, .cum = 16 },
	};
	struct annotate_function fn = { .first = 1, .n = 4 };
	struct annotate a = { .spot = spot, .n_spots = 5, .function = &fn, .n_functions = 1 };
	int64_t flat, cum;
	tap_int(annotate_sum(&a, &fn, 0x1004, 0x1010, &flat, &cum), 2,
		"two spots are in the range");
	tap_ok(flat == 6 && cum == 12, "their costs are added");
	tap_int(annotate_sum(&a, &fn, 0, UINT64_MAX, &flat, &cum), 4, "a range of all addresses");
	tap_ok(flat == 15 && cum == 30, "covers only the function's spots");
	tap_int(annotate_sum(&a, &fn, 0x1006, 0x1010, &flat, &cum), 0, "a range without spots");
	tap_ok(flat == 0 && cum == 0, "costs nothing");
	tap_int(annotate_sum(&a, &fn, 0x1010, 0x1000, &flat, &cum), 0,
		"an inverted range is empty");
}

int main(void)
{
	test_lines();
	test_sum();
	return tap_done();
}
