#include "preload/alloc-math.h"

#include "tests/unit/tap.h"

#include <math.h>

static void test_logarithm(void)
{
	double worst = 0;
	for (double x = 1e-300; x < 1e300; x *= 1.37) {
		double error = fabs(alloc_math_ln(x) - log(x));
		worst = error > worst ? error : worst;
	}
	tap_ok(worst < 1e-9, "the logarithm: error below %g", worst);
	tap_ok(alloc_math_ln(1) == 0, "of 1");
}

static void test_weights(void)
{
	double worst = 0;
	for (double size = 1; size < 1e12; size *= 1.3) {
		uint64_t n = (uint64_t)size;
		double truth = (double)n / -expm1(-(double)n / 524288);
		double error = fabs((double)alloc_math_weight(n, 524288) - truth) / truth;
		worst = error > worst ? error : worst;
	}
	tap_ok(worst < 1e-5, "weights: relative error below %g", worst);
	tap_int((long long)alloc_math_weight((uint64_t)1 << 40, 4096), 1ll << 40,
		"a large block stands for itself");
	tap_int((long long)alloc_math_weight(1, 524288), 524289, "a small one for the mean");
}

int main(void)
{
	test_logarithm();
	test_weights();
	return tap_done();
}
