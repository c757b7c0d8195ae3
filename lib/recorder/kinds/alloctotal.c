/*
 * A block of n bytes is sampled with the probability p = 1 - exp(-n / mean), so its sample stands
 * for 1 / p blocks.  The sum of n / p is the number of allocated bytes on average; with k samples
 * of small blocks its standard error is 1 / sqrt(k).
 *
 * The library also counts the bytes of each thread up to its last sample.  Those after it are not
 * reported, but n / p - n of the last sample is what they are on average: a block and all those
 * after it are passed with the probability (1 - p) / p times that of this block being the last
 * sample.  So the counted bytes, plus n / p - n of each thread's last sample, are another sum that
 * is right on average, and its error does not grow with the number of samples.
 *
 * Each sample of small blocks takes over a small part of the difference between the two sums before
 * it.  That difference depends on earlier samples only, and which block is sampled does not depend
 * on these, so the sums of single places stay right on average.  The difference stays at some three
 * means and what the largest blocks add: nearly all of these are sampled and count as themselves.
 */

#include "recorder/kinds/alloctotal.h"

#include <math.h>

#define PART (1.0 / 16)

/* A process may write any number, and a sample after many lost ones has a large one. */
#define MEANS_MAX 65536.0

static double probability(uint64_t n_bytes, double mean)
{
	return -expm1(-(double)n_bytes / mean);
}

/* n / p - n */
static double rest(uint64_t n_bytes, double mean)
{
	return n_bytes ? (double)n_bytes * (1 / probability(n_bytes, mean) - 1) : 0;
}

static double limit(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

double alloctotal_blocks(struct alloctotal *t, uint64_t n_bytes,
			 const struct allocformat_tail *tail)
{
	double mean = (double)tail->mean, p = probability(n_bytes, mean);
	double whole = (double)n_bytes / p;
	double more = limit(PART * (1 - p) * t->missing_bytes, -whole / 2, whole);
	double passed = limit((double)tail->passed_bytes, 0, MEANS_MAX * mean + (double)n_bytes);
	double counted = passed + rest(n_bytes, mean) - rest(tail->last_bytes, mean);
	t->missing_bytes = limit(t->missing_bytes + counted - whole - more, -MEANS_MAX * mean,
				 MEANS_MAX * mean);
	return (whole + more) / (double)n_bytes;
}
