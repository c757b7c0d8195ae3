#include "preload/alloc-math.h"

#include <string.h>

#define LN2 0.693147180559945309417
#define SQRT2 1.41421356237309504880

double alloc_math_ln(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	int exponent = (int)(bits >> 52 & 2047) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&x, &bits, sizeof(x));
	if (x > SQRT2) {
		x /= 2;
		exponent++;
	}
	/* ln x = 2 artanh y, with y between -0.172 and 0.172 */
	double y = (x - 1) / (x + 1), y2 = y * y;
	double sum = 1.0 / 11;
	for (int k = 9; k > 0; k -= 2)
		sum = sum * y2 + 1.0 / k;
	return exponent * LN2 + 2 * y * sum;
}

/* 1 - exp(-x), for x between 0 and 40: the series of exp(-x / 64), six times squared, so that
 * small values keep their digits. */
static double one_less_exp(double x)
{
	double t = -x / 64, term = t, sum = t;
	for (int k = 2; k < 12; k++) {
		term *= t / k;
		sum += term;
	}
	for (int k = 0; k < 6; k++)
		sum = sum * (2 + sum);
	return -sum;
}

uint64_t alloc_math_weight(uint64_t size, uint64_t mean)
{
	double x = (double)size / (double)mean;
	return x > 40 ? size : (uint64_t)((double)size / one_less_exp(x) + 0.5);
}
