/* Conditions, and whether they hold, and regular expressions of options:
 * "CONDITION\nREGEX\nTEXT". */

#include "base/err.h"
#include "view/table/failif.h"
#include "view/model/pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A function that has become slower, one that is gone, and the total. */
static void check_condition(const struct failif *g)
{
	static const char *const unit[] = { "nanoseconds", "bytes", "count" };
	static const struct row slower = { .name = "f" }, gone = { .name = "operator()(int)" };
	struct diff_row row[] = {
		{ .row = &slower,
		  .flat = { { 10, 0.1, 0 }, { 30, 0.3, 0 }, 0.2, 0.01, true },
		  .cum = { { 10, 0.1, 0 }, { 30, 0.3, 0 }, 0.2, 0.01, true } },
		{ .row = &gone, .flat = { { 5, 0.05, 0 }, { 0, 0, 0 }, -0.05, 0.04, false },
		  .cum = { { 0, 0, 0 }, { 7, 0.07, 0 }, 0.07, 0.04, true } },
	};
	struct diff d = {
		.row = row, .n_rows = 2,
		.total = { { 100, 1, 0 }, { 120, 1.2, 0 }, 0.2, 0.1, true },
	};
	for (int i = 0; i < 18; i++) {
		const struct diff_row *at = NULL;
		struct err e = { 0 };
		d.norm = (enum diff_norm)(i % 3);
		d.has_var = i >= 9;
		int r = failif_holds(g, &d, unit[i / 3 % 3], &at, &e);
		assert(r == 1 || r == 0 ||
		       ((r == -EINVAL || r == -ENOENT) && e.code == r && e.what[0]));
		assert(!at || r == 1);
		assert((r == 1 && g->metric != FAILIF_TOTAL) == (at != NULL));
		assert(!at || !g->name || strcmp(at->row->name, g->name) == 0);
		assert(r != -ENOENT || (g->name && !diff_find(&d, g->name)));
		/* noise fulfils no condition */
		assert(!at || !d.has_var || !g->is_change || at->flat.is_significant ||
		       at->cum.is_significant);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct failif g;
	struct err e = { 0 };
	if (size > 200)
		return 0;
	char *text = strndup((const char *)data, size), *save = NULL;
	char *word = strtok_r(text, "\n", &save);
	if (word) {
		int r = failif_parse(&g, word, &e);
		assert(r == 0 || (r == -EINVAL && e.is_usage));
		if (r == 0)
			check_condition(&g);
		failif_done(&g);
	}
	word = strtok_r(NULL, "\n", &save);
	struct pattern p = { 0 };
	if (word && pattern_compile_foreign(&p, word))
		pattern_matches(&p, save ? save : "");
	pattern_done(&p);
	free(text);
	return 0;
}
