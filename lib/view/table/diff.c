/*
 * Each row's sum has a variance (top.c).  For a share X/T the variance of T matters as well; to
 * first order in both,
 *
 *	var(X/T) = ((1-p)^2 var(X) + p^2 var(T-X)) / T^2,   p = X/T
 *
 * This is 0 for a row that is missing on one side.  So we also compute the variance under the
 * assumption that both sides have the same share, from the mean weight of a sample, and use the
 * larger of the two.
 */

#include "view/table/diff.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA 0.01

struct side { const struct top *top; double seconds, total, n_effective, ratio; };

void diff_free(struct diff *d)
{
	if (d)
		free(d->row);
	free(d);
}

static struct diff_side normalise(const struct side *s, enum diff_norm norm, int64_t raw,
				  double var)
{
	struct diff_side out = { .raw = raw };
	double value = (double)raw * s->ratio, total = s->total;
	var *= s->ratio * s->ratio;
	if (norm == DIFF_SHARE && total > 0) {
		double p = value / total, q = fabs(p) > 1 ? 1 : fabs(p);
		double rest = s->top->total_var * s->ratio * s->ratio - var;
		out.value = p;
		out.var = ((1 - q) * (1 - q) * var + q * q * (rest > 0 ? rest : 0)) /
			  (total * total);
	} else if (norm == DIFF_PER_SECOND) {
		out.value = value / s->seconds;
		out.var = var / (s->seconds * s->seconds);
	} else if (norm == DIFF_ABSOLUTE) {
		out.value = value;
		out.var = var;
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
	double bs = norm == DIFF_PER_SECOND ? b->seconds : 1;
	double fs = norm == DIFF_PER_SECOND ? f->seconds : 1;
	double rate = fabs(c->base.value * bs + c->fresh.value * fs) / (bs + fs);
	return rate * (b->total / b->n_effective / bs + f->total / f->n_effective / fs);
}

static struct diff_change change(const struct side *b, const struct side *f, const struct diff *d,
				 int64_t base, double base_var, int64_t fresh, double fresh_var)
{
	struct diff_change c = { .base = normalise(b, d->norm, base, base_var),
				 .fresh = normalise(f, d->norm, fresh, fresh_var) };
	c.delta = c.fresh.value - c.base.value;
	if (d->has_var) {
		double var = c.base.var + c.fresh.var, pooled = pooled_variance(b, f, d->norm, &c);
		c.se = sqrt(var > pooled ? var : pooled);
	}
	return c;
}

/* The number of standard errors that chance exceeds with probability alpha: bisects the tail of the
 * normal distribution. */
static double z_for(double alpha)
{
	double low = 0, high = 20;
	for (int i = 0; i < 60; i++) {
		double z = (low + high) / 2;
		if (erfc(z / M_SQRT2) > alpha)
			low = z;
		else
			high = z;
	}
	return high;
}

static void set_significance(struct diff_change *c, double z)
{
	c->is_significant = c->se > 0 && fabs(c->delta) > z * c->se;
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

const struct diff_row *diff_find(const struct diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_rows; i++)
		if (strcmp(d->row[i].row->name, name) == 0)
			return &d->row[i];
	return NULL;
}

static struct side side_of(const struct top *t, double seconds, double ratio)
{
	struct side s = { .top = t, .seconds = seconds, .ratio = ratio };
	s.total = (double)t->total * ratio;
	/* The number of equally weighted samples that would have this variance. */
	double var = t->total_var * ratio * ratio;
	s.n_effective = var > 0 ? s.total * s.total / var : 0;
	return s;
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
		d->row[i].flat = change(b, f, d, x->flat, x->flat_var, 0, 0);
		d->row[i].cum = change(b, f, d, x->cum, x->cum_var, 0, 0);
	}
	d->n_rows = base->n_rows;
	for (uint32_t i = 0; i < fresh->n_rows; i++) {
		const struct top_row *y = &fresh->row[i];
		const struct row *name = top_name(fresh, i);
		uint32_t k = HASHINDEX_FIND(&index, hash_name(name->name), j,
					    !d->row[j].is_joined &&
						    strcmp(d->row[j].row->name, name->name) == 0);
		struct top_row none = { 0 };
		const struct top_row *x = k != HASHINDEX_NONE ? &base->row[k] : &none;
		struct diff_row *row = &d->row[k != HASHINDEX_NONE ? k : d->n_rows++];
		row->row = name;
		row->is_joined = true;
		row->flat = change(b, f, d, x->flat, x->flat_var, y->flat, y->flat_var);
		row->cum = change(b, f, d, x->cum, x->cum_var, y->cum, y->cum_var);
	}
	hashindex_done(&index);
	return 0;
}

int diff_new(const struct top *base, double base_seconds, const struct top *fresh,
	     double fresh_seconds, double unit_ratio, enum diff_norm norm, struct diff **ret,
	     struct err *e)
{
	if (norm == DIFF_PER_SECOND && !(base_seconds > 0 && fresh_seconds > 0))
		return err_set(e, EINVAL, "%s profile has no duration",
			       base_seconds > 0 ? "the new" : "the base");
	struct diff *d = calloc(1, sizeof(*d));
	if (!d)
		return err_errno(e, ENOMEM, "cannot compare the profiles");
	d->norm = norm;
	d->has_var = base->has_var && fresh->has_var;
	struct side b = side_of(base, base_seconds, unit_ratio);
	struct side f = side_of(fresh, fresh_seconds, 1);
	if (join_rows(d, &b, &f) < 0) {
		diff_free(d);
		return err_errno(e, ENOMEM, "cannot compare the profiles");
	}
	d->total = change(&b, &f, d, base->total, base->total_var, fresh->total, fresh->total_var);
	d->z_needed = z_for(ALPHA / (2.0 * d->n_rows + 1));
	for (uint32_t i = 0; i < d->n_rows; i++) {
		set_significance(&d->row[i].flat, d->z_needed);
		set_significance(&d->row[i].cum, d->z_needed);
		d->n_significant += d->row[i].flat.is_significant || d->row[i].cum.is_significant;
	}
	set_significance(&d->total, d->z_needed);
	diff_sort(d, TOP_BY_FLAT);
	*ret = d;
	return 0;
}
