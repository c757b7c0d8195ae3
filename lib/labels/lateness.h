#ifndef CPROF_LABELS_LATENESS_H
#define CPROF_LABELS_LATENESS_H

/* How many of the labels that were read later than their samples are wrong, at most. */

#include <stdint.h>

struct lateness {
	/* Samples between two readings of the same goroutine, and those of them between which its
	 * labels have changed. */
	uint64_t n_samples, n_changed;
	uint64_t n_readings;       /* that these samples are distributed over */
};

/*
 * The chance that labels have changed between a sample and the reading that shows them, which is
 * less than the time between the two readings around the sample.  Those between which they have
 * changed are counted.  Others may have changed and changed back, which is as likely as two
 * changes, so the square of that share is added.
 *
 * The samples between two readings depend on each other, so the share is the upper bound of
 * Wilson's interval for n_readings independent observations (E. B. Wilson, 1927), with a confidence
 * of 97.5 %.  Without samples the result is 1.
 */
double lateness_share(const struct lateness *l);

#endif
