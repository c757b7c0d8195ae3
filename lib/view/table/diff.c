/*
 * Each row's sum has a variance (top.c).  For a share X/T the variance of T matters as well; to
 * first order in both,
 *
 *	var(X/T) = ((1-p)^2 var(X) + p^2 var(T-X)) / T^2,   p = X/T
 *
 * This is 0 for a row that is missing on one side.  So we also compute the variance under the
 * assumption that both sides have the same share, from the mean weight of a sample, and use the
 * larger of the two.
 *
 * Of n runs with the values x and the totals t, the share is sum(x) / sum(t) = p, and run i moves
 * it by about e = (x - p t) / sum(t); a mean is moved by e = (x - mean) / n.  The variance is
 * n / (n - 1) * sum(e^2).  Two such variances have the degrees of freedom of Welch and
 * Satterthwaite.  Pairs move the difference by the difference of their e, with n - 1 degrees of
 * freedom.
 */

#include "view/table/diff.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "view/table/chance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct side {
	const struct top *top;
	const struct runs *runs;  /* NULL: not used */
	double seconds, total, n_effective, ratio;
};

/* A row of a side: its sum, and where runs has its values; NULL: all are 0. */
struct part { int64_t raw; double var; const double *run; };

void diff_free(struct diff *d)
{
	if (d)
		free(d->row);
	free(d);
}

/* How runs move a row's value. */
struct moves { const struct runs *runs; const double *value; double wanted, scale; bool is_share; };

static struct moves moves_of(const struct side *s, enum diff_norm norm, const double *value)
{
	const struct runs *runs = s->runs;
	struct moves m = { runs, value, 0, 0, norm == DIFF_SHARE };
	double sum = 0, total = 0;
	for (uint32_t i = 0; i < runs->n; i++) {
		sum += value ? value[i] : 0;
		total += runs->total[i];
	}
	double by = m.is_share ? total : runs->n;
	m.wanted = by > 0 ? sum / by : 0;
	m.scale = m.is_share ? (total > 0 ? 1 / total : 0) :
		  s->ratio / (norm == DIFF_PER_SECOND ? s->seconds : runs->n);
	return m;
}

static double move(const struct moves *m, uint32_t run)
{
	double wanted = m->wanted * (m->is_share ? m->runs->total[run] : 1);
	return ((m->value ? m->value[run] : 0) - wanted) * m->scale;
}

/* The variance of what `fresh` moves, less what `base` does in the same run if it is not NULL. */
static double run_variance(const struct moves *fresh, const struct moves *base)
{
	double n = fresh->runs->n, squares = 0;
	for (uint32_t i = 0; i < fresh->runs->n; i++) {
		double e = move(fresh, i) - (base ? move(base, i) : 0);
		squares += e * e;
	}
	return n / (n - 1) * squares;
}

static struct diff_side normalise(const struct side *s, enum diff_norm norm, const struct part *x)
{
	struct diff_side out = { .raw = x->raw };
	double value = (double)x->raw * s->ratio, total = s->total;
	double var = x->var * s->ratio * s->ratio;
	if (norm == DIFF_SHARE && total > 0) {
		double p = value / total, q = fabs(p) > 1 ? 1 : fabs(p);
		double rest = s->top->total_var * s->ratio * s->ratio - var;
		out.value = p;
		out.var = ((1 - q) * (1 - q) * var + q * q * (rest > 0 ? rest : 0)) /
			  (total * total);
	} else if (norm != DIFF_SHARE) {
		double by = norm == DIFF_PER_SECOND ? s->seconds : s->runs ? s->runs->n : 1;
		out.value = value / by;
		out.var = var / (by * by);
	}
	return out;
}

/* The variance of the difference, assuming that both sides are equal. */
static double pooled_variance(const struct side *b, const struct side *f, enum diff_norm norm,
			      const struct diff_change *c)
{
	if (b->n_effective <= 0 || f->n_effective <= 0)
		return 0;
	if (norm == DIFF_SHARE) {
		double p = fabs(b->n_effective * c->base.value + f->n_effective * c->fresh.value) /
			   (b->n_effective + f->n_effective);
		p = p > 1 ? 1 : p;
		return p * (1 - p) * (1 / b->n_effective + 1 / f->n_effective);
	}
	double bs = norm == DIFF_PER_SECOND ? b->seconds : b->runs ? b->runs->n : 1;
	double fs = norm == DIFF_PER_SECOND ? f->seconds : f->runs ? f->runs->n : 1;
	double rate = fabs(c->base.value * bs + c->fresh.value * fs) / (bs + fs);
	return rate * (b->total / b->n_effective / bs + f->total / f->n_effective / fs);
}

/* Of the scatter of the runs.  *ret_freedom are its degrees of freedom. */
static double scatter(const struct side *b, const struct side *f, const struct diff *d,
		      const struct part *base, const struct part *fresh, double *ret_freedom)
{
	*ret_freedom = INFINITY;
	if (!d->base_runs)
		return 0;
	struct moves from = moves_of(b, d->norm, base->run), to = moves_of(f, d->norm, fresh->run);
	double nb = d->base_runs - 1, nf = d->fresh_runs - 1;
	*ret_freedom = nf;
	if (d->has_pairs)
		return run_variance(&to, &from);
	double vb = run_variance(&from, NULL), vf = run_variance(&to, NULL);
	double sum = vb + vf;
	*ret_freedom = sum > 0 ? sum * sum / (vb * vb / nb + vf * vf / nf) : nb + nf;
	return sum;
}

static struct diff_change change(const struct side *b, const struct side *f, const struct diff *d,
				 const struct part *base, const struct part *fresh)
{
	struct diff_change c = { .base = normalise(b, d->norm, base),
				 .fresh = normalise(f, d->norm, fresh), .chance = 1 };
	c.delta = c.fresh.value - c.base.value;
	if (d->has_var) {
		double freedom, of_runs = scatter(b, f, d, base, fresh, &freedom);
		double var = c.base.var + c.fresh.var, pooled = pooled_variance(b, f, d->norm, &c);
		c.se = sqrt(fmax(fmax(var, pooled), of_runs));
		if (c.se > 0)
			c.chance = chance_beyond(c.delta / c.se, freedom);
	}
	return c;
}

static int by_change(const struct diff_change *a, const struct diff_change *b,
		     const struct diff_row *x, const struct diff_row *y)
{
	if (a->is_significant != b->is_significant)
		return (a->is_significant < b->is_significant) -
		       (a->is_significant > b->is_significant);
	double da = fabs(a->delta), db = fabs(b->delta);
	return da != db ? (da < db) - (da > db) : strcmp(x->row->name, y->row->name);
}

static int by_flat_change(const void *va, const void *vb)
{
	const struct diff_row *a = va, *b = vb;
	return by_change(&a->flat, &b->flat, a, b);
}

static int by_cum_change(const void *va, const void *vb)
{
	const struct diff_row *a = va, *b = vb;
	return by_change(&a->cum, &b->cum, a, b);
}

static int by_name(const void *va, const void *vb)
{
	const struct diff_row *a = va, *b = vb;
	return strcmp(a->row->name, b->row->name);
}

void diff_sort(struct diff *d, enum top_order order)
{
	if (d->n_rows > 1)
		qsort(d->row, d->n_rows, sizeof(*d->row),
		      order == TOP_BY_CUM ? by_cum_change :
		      order == TOP_BY_NAME ? by_name : by_flat_change);
}

/* sign 0: of any sign */
static const struct diff_row *largest(const struct diff *d, bool is_cum, int sign,
				      const struct diff_change **ret_change)
{
	const struct diff_row *found = NULL;
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *x = &d->row[i];
		const struct diff_change *c = is_cum ? &x->cum : &x->flat;
		if (!c->is_significant || c->delta * sign < 0 ||
		    (found && fabs(c->delta) <= fabs((*ret_change)->delta)))
			continue;
		found = x;
		*ret_change = c;
	}
	return found;
}

/* A function that takes longer takes shares from all others.  Its own grows with the total. */
const struct diff_row *diff_largest(const struct diff *d, const struct diff_change **ret_change)
{
	int sign = d->norm != DIFF_SHARE || !d->absolute.is_significant ? 0 :
		   d->absolute.delta > 0 ? 1 : -1;
	for (int is_cum = 0; is_cum < 2; is_cum++) {
		const struct diff_row *x = largest(d, is_cum, sign, ret_change);
		if (!x && sign)
			x = largest(d, is_cum, 0, ret_change);
		if (x)
			return x;
	}
	return NULL;
}

const struct diff_row *diff_find(const struct diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_rows; i++)
		if (strcmp(d->row[i].row->name, name) == 0)
			return &d->row[i];
	return NULL;
}

static struct side side_of(const struct diff_input *x, double ratio, bool has_runs)
{
	const struct top *t = x->top;
	struct side s = { .top = t, .seconds = x->seconds, .ratio = ratio };
	s.runs = has_runs ? x->runs : NULL;
	s.total = (double)t->total * ratio;
	/* The number of equally weighted samples that would have this variance. */
	double var = t->total_var * ratio * ratio;
	s.n_effective = var > 0 ? s.total * s.total / var : 0;
	return s;
}

static struct part flat_part(const struct side *s, const struct top_row *x)
{
	const struct runs *r = s->runs;
	return (struct part){ x->flat, x->flat_var, r ? r->flat + (size_t)x->row * r->n : NULL };
}

static struct part cum_part(const struct side *s, const struct top_row *x)
{
	const struct runs *r = s->runs;
	return (struct part){ x->cum, x->cum_var, r ? r->cum + (size_t)x->row * r->n : NULL };
}

/* x and y may be NULL: the side does not have the row. */
static void set_changes(struct diff_row *row, const struct diff *d, const struct side *b,
			const struct top_row *x, const struct side *f, const struct top_row *y)
{
	static const struct part none;
	struct part from = x ? flat_part(b, x) : none, to = y ? flat_part(f, y) : none;
	row->flat = change(b, f, d, &from, &to);
	from = x ? cum_part(b, x) : none;
	to = y ? cum_part(f, y) : none;
	row->cum = change(b, f, d, &from, &to);
}

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name));
}

/* All rows of base, then those that only fresh has. */
static int join_rows(struct diff *d, const struct side *b, const struct side *f)
{
	const struct top *base = b->top, *fresh = f->top;
	struct hashindex index = { 0 };
	d->row = calloc((size_t)base->n_rows + fresh->n_rows + 1, sizeof(*d->row));
	if (!d->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < base->n_rows; i++) {
		const struct top_row *x = &base->row[i];
		if (!hashindex_add(&index, hash_name(top_name(base, i)->name), i)) {
			hashindex_done(&index);
			return -ENOMEM;
		}
		d->row[i].row = top_name(base, i);
		set_changes(&d->row[i], d, b, x, f, NULL);
	}
	d->n_rows = base->n_rows;
	for (uint32_t i = 0; i < fresh->n_rows; i++) {
		const struct top_row *y = &fresh->row[i];
		const struct row *name = top_name(fresh, i);
		uint32_t k = HASHINDEX_FIND(&index, hash_name(name->name), j,
					    !d->row[j].is_joined &&
						    strcmp(d->row[j].row->name, name->name) == 0);
		const struct top_row *x = k != HASHINDEX_NONE ? &base->row[k] : NULL;
		struct diff_row *row = &d->row[k != HASHINDEX_NONE ? k : d->n_rows++];
		row->row = name;
		row->is_joined = true;
		set_changes(row, d, b, x, f, y);
	}
	hashindex_done(&index);
	return 0;
}

static void mark_significant(struct diff *d)
{
	double limit = DIFF_CHANCE / (2.0 * d->n_rows + 1);
	d->z_needed = chance_limit(limit, INFINITY);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct diff_row *x = &d->row[i];
		x->flat.is_significant = x->flat.chance < limit;
		x->cum.is_significant = x->cum.chance < limit;
		d->n_significant += x->flat.is_significant || x->cum.is_significant;
	}
	d->total.is_significant = d->total.chance < limit;
}

int diff_new(const struct diff_input *base, const struct diff_input *fresh, double unit_ratio,
	     enum diff_norm norm, struct diff **ret, struct err *e)
{
	if (norm == DIFF_PER_SECOND && !(base->seconds > 0 && fresh->seconds > 0))
		return err_set(e, EINVAL, "%s profile has no duration",
			       base->seconds > 0 ? "the new" : "the base");
	struct diff *d = calloc(1, sizeof(*d));
	if (!d)
		return err_errno(e, ENOMEM, "cannot compare the profiles");
	d->norm = norm;
	d->has_var = base->top->has_var && fresh->top->has_var;
	bool has_runs = base->runs && fresh->runs;
	d->base_runs = has_runs ? base->runs->n : 0;
	d->fresh_runs = has_runs ? fresh->runs->n : 0;
	d->has_pairs = has_runs && base->has_pairs && fresh->has_pairs;
	struct side b = side_of(base, unit_ratio, has_runs), f = side_of(fresh, 1, has_runs);
	if (join_rows(d, &b, &f) < 0) {
		diff_free(d);
		return err_errno(e, ENOMEM, "cannot compare the profiles");
	}
	struct part from = { b.top->total, b.top->total_var, has_runs ? b.runs->total : NULL };
	struct part to = { f.top->total, f.top->total_var, has_runs ? f.runs->total : NULL };
	d->total = change(&b, &f, d, &from, &to);
	d->norm = DIFF_ABSOLUTE;
	d->absolute = change(&b, &f, d, &from, &to);
	d->absolute.is_significant = d->absolute.chance < DIFF_CHANCE;
	d->norm = norm;
	mark_significant(d);
	diff_sort(d, TOP_BY_FLAT);
	*ret = d;
	return 0;
}
