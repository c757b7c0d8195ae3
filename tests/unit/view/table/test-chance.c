/* Values from tables of Student's and the normal distribution. */

#include "tap.h"
#include "view/table/chance.h"

#include <math.h>

static void near(double got, double want, const char *what)
{
	tap_ok(fabs(got - want) <= want * 1e-3, "%s: %g, as %g", what, got, want);
}

int main(void)
{
	near(chance_beyond(1.959964, INFINITY), 0.05, "normal");
	near(chance_beyond(-3.290527, INFINITY), 0.001, "normal, to the other side");
	near(chance_beyond(12.7062, 1), 0.05, "1 degree of freedom");
	near(chance_beyond(2.228139, 10), 0.05, "10 degrees of freedom");
	near(chance_beyond(4.436979, 11), 0.001, "11 degrees of freedom, far out");
	near(chance_beyond(2.364624, 7.0), 0.05, "7 degrees of freedom");
	near(chance_beyond(1.959964, 1e5), 0.05, "very many");
	near(chance_beyond(0.5, 3), 0.651448, "within one standard error");
	tap_ok(chance_beyond(0, 5) == 1, "no deviation: 1");
	tap_ok(chance_beyond(1e200, 3) == 0, "an absurd deviation: 0");
	near(chance_limit(0.05, 10), 2.228139, "the limit of 5 %");
	near(chance_limit(0.001, INFINITY), 3.290527, "the limit of 1 in 1000");
	near(chance_limit(0.01, 2), 9.924843, "the limit with few degrees of freedom");
	return tap_done();
}
