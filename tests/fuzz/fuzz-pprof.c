/*
 * Reads an untrusted profile with both readers, checks it, and produces every view of it.  Both
 * readers must agree whether it is valid.  Merged with itself it has the same samples, with twice
 * the values.
 */

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "proto/pprof-tables.h"
#include "view/table/annotate.h"
#include "view/table/diff.h"
#include "view/model/filter.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"
#include "view/table/rows.h"
#include "view/model/scale.h"
#include "view/table/top.h"
#include "view/table/tree.h"

#include "fuzzdir.h"

#include <assert.h>
#include <errno.h>
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
		struct runs *runs = NULL;
		assert(runs_new(m, f, r, type, &runs, NULL) == 0);
		struct diff_input from = { t, runs, 1, true }, to = { t, runs, 2, true };
		if (diff_new(&from, &to, 1, DIFF_SHARE, &d, NULL) == 0)
			assert(d->n_significant == 0);
		diff_free(d);
		runs_free(runs);
	}
	if (by != ROWS_LABEL && tree_new(m, f, r, type, TREE_ALL, NULL, &tree, NULL) == 0)
		for (uint32_t i = 1; i < tree->n_nodes; i++)
			assert(tree->node[i].parent < i && tree->node[i].row < r->n_rows);
	tree_free(tree);
	top_free(t);
	rows_free(r);
}

static void count_skipped(void *ctx, size_t index, const struct err *why)
{
	assert(index < 2 && why->what[0]);
	++*(unsigned int *)ctx;
}

/* Merges the file with itself.  is_small: no sum of values is saturated. */
static void merge(const struct model *m, const uint8_t *data, size_t size, bool is_small)
{
	static const char *const dropped[] = { "tid" };
	unsigned int n_skipped = 0;
	const struct model_merge how = {
		.dropped_label = dropped, .n_dropped_labels = 1, .window_ns = 1000000,
		.n_comments_max = 2, .skip = count_skipped, .ctx = &n_skipped,
	};
	struct model *two = NULL;
	struct err e = { 0 };
	char path[256];
	fuzzdir_make("/dev/shm");
	fuzzdir_put("profile", bytes_of(data, size));
	snprintf(path, sizeof(path), "%s", fuzzdir_path("profile"));
	const char *const paths[] = { path, path };
	int r = model_read_files(paths, 2, &two, &e);
	assert(r == 0 || (r == -E2BIG && e.what[0]));
	if (r == 0) {
		check_model(two);
		assert(two->n_files == 2 && two->n_types == m->n_types);
		assert(two->n_samples == m->n_samples && two->n_stacks == m->n_stacks);
		for (size_t i = 0; is_small && i < (size_t)m->n_samples * m->n_types; i++)
			assert(two->value[i] == 2 * m->value[i]);
		model_free(two);
	}
	r = model_merge_files(paths, 2, &how, &two, &e);
	assert(r == 0 || e.what[0]);
	if (r == 0) {
		check_model(two);
		assert(two->n_files + n_skipped == 2 && two->n_comments <= 2);
		model_free(two);
	}
}

static void try_model(const uint8_t *data, size_t size, bool is_small)
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
	merge(m, data, size, is_small);
	model_free(m);
}

static void same_text(const struct pprof_tables *t, uint32_t i, const char *s)
{
	assert(strlen(s) == t->text[i].n && memcmp(s, t->text[i].s, t->text[i].n) == 0);
}

static void same_tables(const struct profile *p, const struct profile *head,
			const struct pprof_tables *t)
{
	assert(head->n_functions == p->n_functions && head->n_locations == p->n_locations);
	for (size_t i = 0; i < p->n_functions; i++) {
		same_text(t, t->function[i].name, p->function[i].name);
		same_text(t, t->function[i].system_name, p->function[i].system_name);
		same_text(t, t->function[i].filename, p->function[i].filename);
		assert(t->function[i].start_line == p->function[i].start_line);
	}
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *want = &p->location[i];
		const struct pprof_location_row *l = &t->location[i];
		assert(l->address == want->address && l->is_folded == want->is_folded);
		assert(l->n_lines == want->n_lines);
		assert(l->mapping == (want->mapping ? (size_t)(want->mapping - p->mapping)
						    : PPROF_NO_INDEX));
		for (size_t k = 0; k < want->n_lines; k++) {
			const struct profile_line *line = &want->line[k];
			const struct pprof_line_row *row = &t->lines.v[l->first_line + k];
			assert(row->line == line->line && row->column == line->column);
			assert(row->function == (line->function
				? (size_t)(line->function - p->function) : PPROF_NO_INDEX));
		}
	}
}

static void same_labels(const struct profile_sample *want, const struct pprof_sample_row *row)
{
	for (size_t i = 0; i < want->n_labels; i++) {
		const struct profile_label *a = &want->label[i], *b = &row->label[i];
		assert(strcmp(a->key, b->key) == 0 && strcmp(a->num_unit, b->num_unit) == 0);
		assert(!a->str == !b->str && (!a->str || strcmp(a->str, b->str) == 0));
		assert(a->num == b->num);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = NULL;
	struct err e = { 0 };
	if (profile_read(data, size, MAX_BYTES, &p, &e) < 0) {
		assert(e.code < 0 && e.what[0]);
		if (size < MAX_BYTES / 1000)
			try_model(data, size, false);
		return 0;
	}
	size_t n_errors = 0, n_samples = 0;
	int r = pprof_check(p, PPROF_CONSUMER_ALL, NULL, NULL, &n_errors, NULL);
	assert(r == 0);
	struct pprof_samples *s = NULL;
	const struct profile *head = NULL;
	const struct pprof_tables *tables = NULL;
	struct pprof_sample_row row;
	r = pprof_samples_open(data, size, &s, &head, &tables, &e);
	assert(r == 0 && head->n_samples == p->n_samples);
	same_tables(p, head, tables);
	while ((r = pprof_samples_next(s, &row)) > 0) {
		const struct profile_sample *want = &p->sample[n_samples++];
		assert(row.n_locations == want->n_locations && row.n_labels == want->n_labels);
		for (size_t i = 0; i < row.n_locations; i++)
			assert(row.location[i] == (size_t)(want->location[i] - p->location));
		for (size_t i = 0; i < p->n_sample_types; i++)
			assert(row.value[i] == want->value[i]);
		same_labels(want, &row);
	}
	assert(r == 0 && n_samples == p->n_samples);
	pprof_samples_close(s);
	bool is_small = p->n_samples < 1 << 20;
	for (size_t i = 0; i < p->n_samples; i++)
		for (size_t k = 0; k < p->n_sample_types; k++)
			is_small &= model_magnitude(p->sample[i].value[k]) < INT64_C(1) << 40;
	profile_free(p);
	try_model(data, size, is_small);
	return 0;
}
