#include "labels/lateness.h"

#include <math.h>

#define Z 1.96

double lateness_share(const struct lateness *l)
{
	if (!l->n_samples || !l->n_readings)
		return 1;
	double n = (double)l->n_readings, p = (double)l->n_changed / (double)l->n_samples;
	double middle = p + Z * Z / (2 * n);
	double half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n));
	double share = (middle + half) / (1 + Z * Z / n);
	share += share * share;
	return share < 1 ? share : 1;
}
