/*
 * Reads an untrusted profile with both readers, checks it, and produces every view of it.  Both
 * readers must agree whether it is valid.
 */

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "view/table/annotate.h"
#include "view/table/diff.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"
#include "view/model/scale.h"
#include "view/table/top.h"
#include "view/table/tree.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_model(const struct model *m)
{
	for (uint32_t i = 0; i < m->n_samples; i++) {
		assert(m->sample[i].stack < m->n_stacks);
		assert(m->sample[i].labels < m->n_label_sets);
	}
	for (size_t i = 0; i < m->n_stack_locations; i++)
		assert(m->stack_location[i] < m->n_locations);
	for (uint32_t i = 0; i < m->n_lines; i++)
		assert(m->line[i].function == MODEL_NONE || m->line[i].function < m->n_functions);
}

static void view(const struct model *m, const struct filter *f, enum rows_by by, uint32_t type)
{
	struct rows *r = NULL;
	struct top *t = NULL;
	struct tree *tree = NULL;
	struct diff *d = NULL;
	char buf[SCALE_TEXT_MAX];
	if (rows_new(m, f, by, "thread", &r, NULL) < 0)
		return;
	if (top_new(m, f, r, type, &t, NULL) == 0) {
		struct scale s = scale_choose(1, t->total, model_string(m, m->type[type].unit));
		for (uint32_t k = 0; k < t->n_rows; k++) {
			assert(top_name(t, k)->name[0]);
			scale_text(s, t->row[k].cum, buf);
			scale_percent(t->row[k].flat, t->total, buf);
		}
		top_sort(t, TOP_BY_CUM);
		if (diff_new(t, 1, t, 2, 1, DIFF_SHARE, &d, NULL) == 0)
			assert(d->n_significant == 0);
		diff_free(d);
	}
	if (by != ROWS_LABEL && tree_new(m, f, r, type, TREE_ALL, NULL, &tree, NULL) == 0)
		for (uint32_t i = 1; i < tree->n_nodes; i++)
			assert(tree->node[i].parent < i && tree->node[i].row < r->n_rows);
	tree_free(tree);
	top_free(t);
	rows_free(r);
}

static void try_model(const uint8_t *data, size_t size)
{
	static const char *const tags[] = { "tid=1", "bytes=1kb:2mb" };
	static const struct filter_spec spec[] = {
		{ .tag = NULL },
		{ .regex = { [FILTER_FOCUS] = "m", [FILTER_HIDE] = "a" }, .tag = tags,
		  .n_tags = 1 },
		{ .regex = { [FILTER_IGNORE] = "x", [FILTER_SHOW] = "main|f" }, .tag = tags + 1,
		  .n_tags = 1 },
	};
	struct model *m = NULL;
	if (model_read(data, size, &m, NULL) < 0)
		return;
	check_model(m);
	for (size_t i = 0; i < sizeof(spec) / sizeof(*spec); i++) {
		struct filter *f = NULL;
		struct annotate *a = NULL;
		if (filter_new(m, &spec[i], &f, NULL) < 0)
			continue;
		for (int by = ROWS_FUNCTION; by <= ROWS_LABEL; by++)
			view(m, f, (enum rows_by)by, m->n_types - 1);
		if (annotate_new(m, f, 0, ".", i == 1, &a, NULL) == 0)
			assert(a->n_functions > 0);
		annotate_free(a);
		filter_free(f);
	}
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;
	struct err e = { 0 };
	if (profile_read(data, size, MAX_BYTES, &p, &e) < 0) {
		assert(e.code < 0 && e.what[0]);
		if (size < MAX_BYTES / 1000)
			try_model(data, size);
		return 0;
	}
	size_t n_errors = 0, n_samples = 0;
	int r = pprof_check(p, PPROF_CONSUMER_ALL, NULL, NULL, &n_errors, NULL);
	assert(r == 0);
	struct pprof_samples *s = NULL;
	const struct profile *head = NULL;
	struct pprof_sample_row row;
	r = pprof_samples_open(data, size, &s, &head, &e);
	assert(r == 0 && head->n_samples == p->n_samples);
	while ((r = pprof_samples_next(s, &row)) > 0) {
		const struct profile_sample *want = &p->sample[n_samples++];
		assert(row.n_locations == want->n_locations && row.n_labels == want->n_labels);
		for (size_t i = 0; i < row.n_locations; i++)
			assert(row.location[i] == (size_t)(want->location[i] - p->location));
		for (size_t i = 0; i < p->n_sample_types; i++)
			assert(row.value[i] == want->value[i]);
	}
	assert(r == 0 && n_samples == p->n_samples);
	pprof_samples_close(s);
	profile_free(p);
	try_model(data, size);
	return 0;
}
