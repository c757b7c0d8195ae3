/*
 * Each set of labels is matched once.  A VALUE is parsed once: digits with an optional unit, or two
 * of those around a colon, are a range.
 */

#include "view/model/filter-tag.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/model/filter.h"
#include "view/model/pattern.h"
#include "view/model/scale.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 64
#define UNIT_MAX 16

struct bound { double value; char unit[UNIT_MAX]; };

struct value {
	const char *text;
	bool is_range, is_number;    /* is_number: a single number, unit optional */
	bool has_low, has_high;
	struct bound low, high;
	struct pattern pattern;
};

/* Parses "64kb" at *p and advances. */
static bool parse_bound(const char **p, struct bound *b)
{
	char *end;
	const char *digits = *p + (**p == '-' || **p == '+');
	if (!isdigit((unsigned char)*digits))
		return false;
	b->value = (double)strtoll(*p, &end, 10);
	size_t n = 0;
	for (; isalpha((unsigned char)*end) && n < UNIT_MAX - 1; end++)
		b->unit[n++] = *end;
	b->unit[n] = '\0';
	*p = end;
	return true;
}

static void parse_range(struct value *v)
{
	const char *p = v->text;
	v->has_low = parse_bound(&p, &v->low);
	if (*p == ':') {
		p++;
		v->has_high = parse_bound(&p, &v->high);
		v->is_range = *p == '\0' && (v->has_low || v->has_high);
	} else if (v->has_low && *p == '\0') {
		v->high = v->low;
		v->is_range = v->is_number = v->has_high = true;
	}
}

/* The number in the bound's unit; NaN, which is in no range, if the units are incompatible. */
static double in_unit(const struct model *m, const struct model_label *l, const struct bound *b)
{
	const char *unit = model_string(m, l->num_unit ? l->num_unit : l->key);
	if (!b->unit[0] || strcmp(unit, b->unit) == 0)
		return (double)l->num;
	double ratio = scale_ratio(unit, b->unit);
	return ratio > 0 ? (double)l->num * ratio : NAN;
}

static bool label_matches(const struct model *m, const struct model_label *l, const struct value *v)
{
	if (l->str) {
		const char *text = model_string(m, l->str);
		return v->is_number ? strcmp(text, v->text) == 0
				    : pattern_matches(&v->pattern, text);
	}
	return v->is_range && (!v->has_low || in_unit(m, l, &v->low) >= v->low.value) &&
	       (!v->has_high || in_unit(m, l, &v->high) <= v->high.value);
}

static int parse_values(char *text, struct value *v, size_t *ret_n, struct err *e)
{
	char *save = NULL;
	*ret_n = 0;
	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		if (*ret_n == VALUES_MAX)
			return err_usage(e, "--tag with more than %d values", VALUES_MAX);
		struct value *x = &v[*ret_n];
		*x = (struct value){ .text = w };
		parse_range(x);
		int r = pattern_compile(&x->pattern, "--tag", w, e);
		if (r < 0)
			return r;
		(*ret_n)++;
	}
	return 0;
}

static bool set_matches(const struct model *m, const struct model_labels *set, const char *key,
		     const struct value *v, size_t n_values)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct model_label *l = &m->label[set->first + i];
		if (strcmp(model_string(m, l->key), key) != 0)
			continue;
		for (size_t k = 0; k < n_values; k++)
			if (label_matches(m, l, &v[k]))
				return true;
	}
	return false;
}

int filter_tag_apply(struct filter *f, const char *rule, struct err *e)
{
	const struct model *m = f->m;
	CLEANUP_FREE char *key = strdup(rule);
	CLEANUP_FREE unsigned char *is_in = calloc((size_t)m->n_label_sets + 1, 1);
	CLEANUP_FREE struct value *value = calloc(VALUES_MAX, sizeof(*value));
	if (!key || !is_in || !value)
		return err_errno(e, ENOMEM, "cannot filter the profile");
	char *eq = strchr(key, '=');
	if (!eq || eq == key || !eq[1]) {
		int r = err_usage(e, "--tag '%s' is not KEY=VALUE", rule);
		err_hint(e, "such as --tag thread_name=worker, or --tag bytes=1kb:64kb");
		return r;
	}
	*eq = '\0';
	size_t n = 0;
	bool any = false;
	int r = parse_values(eq + 1, value, &n, e);
	if (r < 0)
		goto out;
	for (uint32_t i = 0; i < m->n_label_sets; i++)
		any |= is_in[i] = set_matches(m, &m->labels[i], key, value, n);
	for (uint32_t i = 0; i < m->n_samples; i++)
		f->sample_out[i] |= !is_in[m->sample[i].labels];
	f->missed[FILTER_TAG] |= !any;
out:
	for (size_t i = 0; i < n; i++)
		pattern_done(&value[i].pattern);
	return r;
}
