/*
 * Student's distribution is a regularised incomplete beta function,
 *
 *	chance = I_x(freedom / 2, 1 / 2),   x = freedom / (freedom + errors^2)
 *
 * computed with its continued fraction (Lentz), which converges fast below the mean; above it, the
 * symmetry I_x(a, b) = 1 - I_(1-x)(b, a) is used.
 */

#include "view/table/chance.h"

#include <math.h>
#include <stdbool.h>

#define TERMS_MAX 400
#define TINY 1e-300
#define FREEDOM_MAX 1e6  /* beyond it, the distribution is normal */

static double not_zero(double v)
{
	return fabs(v) < TINY ? TINY : v;
}

static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), sum = d;
	for (int m = 1; m <= TERMS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		sum *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		sum *= c * d;
		if (fabs(c * d - 1) < 1e-13)
			break;
	}
	return sum;
}

/* y is 1 - x, which is more exact than the difference. */
static double beta_part(double x, double y, double a, double b)
{
	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	bool is_low = x < (a + 1) / (a + b + 2);
	return is_low ? front * beta_fraction(x, a, b) / a
		      : 1 - front * beta_fraction(y, b, a) / b;
}

double chance_beyond(double errors, double freedom)
{
	if (!(freedom < FREEDOM_MAX))
		return erfc(fabs(errors) / M_SQRT2);
	double square = errors * errors;
	if (!isfinite(square))
		return 0;
	return beta_part(freedom / (freedom + square), square / (freedom + square), freedom / 2,
			 0.5);
}

double chance_limit(double chance, double freedom)
{
	double low = 0, high = 1;
	while (high < 1e9 && chance_beyond(high, freedom) > chance)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;
		if (chance_beyond(middle, freedom) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}
