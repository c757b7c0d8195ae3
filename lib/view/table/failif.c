/* Parses from the right, since NAME may contain anything, even parentheses, blanks and '>'. */

#include "view/table/failif.h"

#include "base/err.h"
#include "view/model/scale.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void failif_done(struct failif *g)
{
	free(g->name);
	*g = (struct failif){ 0 };
}

static int refuse(const char *text, struct err *e)
{
	int r = err_usage(e, "--fail-if '%s' is not a condition", text);
	err_hint(e, "conditions are, for example, 'flat(NAME) > +2%%', 'cum(NAME) > 30%%', "
		    "'flat(*) > +1%%', 'total > +5%%'");
	return r;
}

static bool parse_number(struct failif *g, const char *p)
{
	char *end;
	p += strspn(p, " ");
	g->is_change = *p == '+' || *p == '-';
	if (!isdigit((unsigned char)p[g->is_change]))
		return false;
	g->number = strtod(p, &end);
	end += strspn(end, " ");
	size_t n = strcspn(end, " ");
	if (n >= sizeof(g->unit) || end[n + strspn(end + n, " ")])
		return false;
	g->is_percent = n == 1 && *end == '%';
	if (!g->is_percent)
		memcpy(g->unit, end, n);
	return isfinite(g->number);
}

/* "flat(NAME)", n characters. */
static int parse_subject(struct failif *g, const char *p, size_t n)
{
	static const char *const word[] = { "flat(", "cum(" };
	if (n == 5 && memcmp(p, "total", 5) == 0) {
		g->metric = FAILIF_TOTAL;
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		size_t k = strlen(word[i]);
		if (n <= k + 1 || memcmp(p, word[i], k) != 0 || p[n - 1] != ')')
			continue;
		g->metric = i == 0 ? FAILIF_FLAT : FAILIF_CUM;
		if (n == k + 2 && p[k] == '*')
			return 0;
		g->name = strndup(p + k, n - k - 1);
		return g->name ? 0 : -ENOMEM;
	}
	return -EINVAL;
}

int failif_parse(struct failif *g, const char *text, struct err *e)
{
	*g = (struct failif){ .text = text };
	const char *op = NULL;
	for (const char *p = text; *p; p++)
		if (*p == '<' || *p == '>')
			op = p;
	if (!op)
		return refuse(text, e);
	g->is_greater = *op == '>';
	g->or_equal = op[1] == '=';
	const char *start = text + strspn(text, " ");
	size_t n = (size_t)(op - start);
	while (n > 0 && start[n - 1] == ' ')
		n--;
	if (op < start || !parse_number(g, op + 1 + g->or_equal))
		return refuse(text, e);
	int r = parse_subject(g, start, n);
	if (r == -ENOMEM)
		return err_errno(e, ENOMEM, "cannot read the condition");
	return r < 0 ? refuse(text, e) : 0;
}

static bool compare(const struct failif *g, double value, double bound)
{
	if (g->is_greater)
		return g->or_equal ? value >= bound : value > bound;
	return g->or_equal ? value <= bound : value < bound;
}

/*
 * Chance must not fulfil the condition in more than one of a hundred comparisons.  Of any row, this
 * counts only the rows that are large enough for the condition: the sum of both sides must be at
 * least the change, and chance changes the sum as often in one direction as in the other.
 */
static double chance_allowed(const struct failif *g, const struct diff *d, double unit_factor)
{
	uint32_t n = 0;
	double least = 0;
	if (g->name)
		return DIFF_CHANCE;
	if (g->is_greater == (g->number > 0))
		least = !g->is_percent ? fabs(g->number) / unit_factor :
			d->norm == DIFF_SHARE ? fabs(g->number) / 100 : 0;
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *row = &d->row[i];
		const struct diff_change *c = g->metric == FAILIF_FLAT ? &row->flat : &row->cum;
		n += fabs(c->base.value) + fabs(c->fresh.value) >= least;
	}
	return DIFF_CHANCE / (n ? n : 1);
}

/* unit_factor: from the values' unit to the condition's. */
static bool change_holds(const struct failif *g, const struct diff *d, const struct diff_change *c,
			 double chance, double unit_factor)
{
	if (!g->is_change) {
		double total = d->total.fresh.value, value = c->fresh.value;
		double share = d->norm == DIFF_SHARE ? value : total ? value / total : 0;
		return compare(g, g->is_percent ? 100 * share : value * unit_factor, g->number);
	}
	if (d->has_var && !(c->chance < chance))
		return false;
	if (!g->is_percent)
		return compare(g, c->delta * unit_factor, g->number);
	if (d->norm == DIFF_SHARE)
		return compare(g, 100 * c->delta, g->number);
	double base = c->base.value;
	double percent = base ? 100 * c->delta / fabs(base)
			      : c->delta ? copysign(HUGE_VAL, c->delta) : 0;
	return compare(g, percent, g->number);
}

int failif_holds(const struct failif *g, const struct diff *d, const char *unit,
		 const struct diff_row **ret_row, struct err *e)
{
	double factor = 1;
	*ret_row = NULL;
	if (g->unit[0]) {
		factor = strcmp(unit, g->unit) == 0 ? 1 : scale_ratio(unit, g->unit);
		if (factor == 0)
			return err_set(e, EINVAL, "--fail-if '%s': values are in '%s', not '%s'",
				       g->text, unit, g->unit);
	}
	if (g->metric == FAILIF_TOTAL && g->is_change && d->norm == DIFF_SHARE) {
		int r = err_set(e, EINVAL, "--fail-if '%s': as a share the total is always 100%%",
				g->text);
		err_hint(e, "compare values: --absolute or --per-second");
		return r;
	}
	if (!g->is_percent && d->norm == DIFF_SHARE) {
		int r = err_set(e, EINVAL,
				"--fail-if '%s': the comparison is by share, so use percent",
				g->text);
		err_hint(e, "or compare values: --absolute or --per-second");
		return r;
	}
	if (g->metric == FAILIF_TOTAL)
		return change_holds(g, d, &d->total, DIFF_CHANCE, factor);
	if (g->name && !diff_find(d, g->name)) {
		int r = err_set(e, ENOENT, "--fail-if '%s': no row '%s' in the profiles", g->text,
				g->name);
		err_hint(e, "'cprof report --limit 0 FILE' lists all names");
		return r;
	}
	double chance = chance_allowed(g, d, factor);
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct diff_row *row = &d->row[i];
		if (g->name && strcmp(row->row->name, g->name) != 0)
			continue;
		const struct diff_change *c = g->metric == FAILIF_FLAT ? &row->flat : &row->cum;
		if (change_holds(g, d, c, chance, factor)) {
			*ret_row = row;
			return 1;
		}
	}
	return 0;
}
