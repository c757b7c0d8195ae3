/* Each distinct number is a run, whatever they are. */

#include "view/table/runs.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/model/model-merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MAX 10000u
#define VALUES_MAX (16u << 20)

struct run_ids { VEC(uint64_t) id; };

void runs_free(struct runs *r)
{
	if (r) {
		free(r->number);
		free(r->total);
		free(r->flat);
		free(r->cum);
	}
	free(r);
}

static bool run_of(const struct model *m, uint32_t set, uint64_t *ret)
{
	for (uint32_t i = 0; i < m->labels[set].n; i++) {
		const struct model_label *l = &m->label[m->labels[set].first + i];
		if (strcmp(model_string(m, l->key), MODEL_RUN_LABEL) == 0)
			return units_parse_u64(model_string(m, l->str), ret) == 0;
	}
	return false;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The run of each label set; false: a sample has none, or there are not two, or too many. */
static bool number_runs(const struct model *m, struct run_ids *ids, uint32_t *run_of_set)
{
	for (uint32_t i = 0; i < m->n_label_sets; i++) {
		uint64_t id;
		if (run_of(m, i, &id) && !VEC_PUSH(&ids->id, id))
			return false;
	}
	if (ids->id.n < 2)
		return false;
	qsort(ids->id.v, ids->id.n, sizeof(*ids->id.v), compare_ids);
	size_t n = 1;
	for (size_t i = 1; i < ids->id.n; i++)
		if (ids->id.v[i] != ids->id.v[n - 1])
			ids->id.v[n++] = ids->id.v[i];
	ids->id.n = n;
	for (uint32_t i = 0; i < m->n_label_sets; i++) {
		uint64_t id;
		const uint64_t *at = run_of(m, i, &id) ? bsearch(&id, ids->id.v, n, sizeof(*at),
								 compare_ids) : NULL;
		run_of_set[i] = at ? (uint32_t)(at - ids->id.v) : MODEL_NONE;
	}
	for (uint32_t i = 0; i < m->n_samples; i++)
		if (run_of_set[m->sample[i].labels] == MODEL_NONE)
			return false;
	return n >= 2 && n <= RUNS_MAX;
}

static void add_samples(struct runs *x, const struct model *m, const struct filter *f,
			const struct rows *r, uint32_t type, const uint32_t *run_of_set,
			uint32_t *seen)
{
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t value = model_value(m, i, type);
		if (value == 0 || (f && f->sample_idle && f->sample_idle[i]))
			continue;
		uint32_t run = run_of_set[m->sample[i].labels];
		x->total[run] += (double)model_magnitude(value);
		struct rows_walk w = rows_begin(r, m, f, i);
		while (rows_next(&w)) {
			size_t at = (size_t)w.row * x->n + run;
			if (w.is_flat)
				x->flat[at] += (double)value;
			if (seen[w.row] != i + 1)
				x->cum[at] += (double)value;
			seen[w.row] = i + 1;
		}
	}
}

int runs_new(const struct model *m, const struct filter *f, const struct rows *r, uint32_t type,
	     struct runs **ret, struct err *e)
{
	struct run_ids ids = { 0 };
	CLEANUP_FREE uint32_t *run_of_set = calloc((size_t)m->n_label_sets + 1, sizeof(uint32_t));
	CLEANUP_FREE uint32_t *seen = calloc((size_t)r->n_rows + 1, sizeof(*seen));
	CLEANUP(runs_freep) struct runs *x = calloc(1, sizeof(*x));
	*ret = NULL;
	if (!run_of_set || !seen || !x)
		return err_errno(e, ENOMEM, "cannot compare the runs");
	bool has_runs = number_runs(m, &ids, run_of_set);
	size_t n = ids.id.n, n_values = (r->n_rows + (size_t)1) * n;
	x->number = ids.id.v;
	if (!has_runs || n_values > VALUES_MAX)
		return 0;
	x->n = (uint32_t)n;
	x->total = calloc(n, sizeof(*x->total));
	x->flat = calloc(n_values, sizeof(*x->flat));
	x->cum = calloc(n_values, sizeof(*x->cum));
	if (!x->total || !x->flat || !x->cum)
		return err_errno(e, ENOMEM, "cannot compare the runs");
	add_samples(x, m, f, r, type, run_of_set, seen);
	*ret = TAKE_PTR(x);
	return 0;
}

static bool has_comment(const struct model *m, const char *text)
{
	for (uint32_t i = 0; i < m->n_comments; i++)
		if (strcmp(model_string(m, m->comment[i]), text) == 0)
			return true;
	return false;
}

/* Each comment names one recording by its time. */
bool runs_are_pairs(const struct model *a, const struct runs *x, const struct model *b,
		    const struct runs *y)
{
	if (x->n != y->n || memcmp(x->number, y->number, x->n * sizeof(*x->number)) != 0)
		return false;
	for (uint32_t i = 0; i < a->n_comments; i++) {
		const char *text = model_string(a, a->comment[i]);
		if (strncmp(text, MODEL_PAIRS_NOTE, strlen(MODEL_PAIRS_NOTE)) == 0 &&
		    has_comment(b, text))
			return true;
	}
	return false;
}
