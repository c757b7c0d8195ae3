#ifndef CPROF_RECORDER_KINDS_WAITRATE_H
#define CPROF_RECORDER_KINDS_WAITRATE_H

/* Chooses how many of the switches are sampled with their stacks, from how many there are. */

#include <stdbool.h>
#include <stdint.h>

/* Up to this rate each one is, unless the user chooses another: some 8 % of a CPU. */
#define WAITRATE_HZ_DEFAULT 10000u

struct waitrate {
	uint64_t limit_hz;
	uint64_t period;               /* one of so many is sampled */
	uint64_t period_max;           /* the largest one so far */
	uint64_t since_ns, last_n;     /* where the present measurement began; 0: not yet */
	uint64_t low_since_ns;         /* since when a smaller period would do; 0: not now */
	uint64_t hold_ns;              /* for so long, before the period becomes smaller */
};

void waitrate_init(struct waitrate *r, uint64_t limit_hz);

/* The period for n switches in that time. */
uint64_t waitrate_period(const struct waitrate *r, uint64_t n, uint64_t ns);

/* n_samples: of all tasks so far, at the present period.  True: r->period is to be changed to
 * *ret_period. */
bool waitrate_step(struct waitrate *r, uint64_t n_samples, uint64_t now_ns, uint64_t *ret_period);

/* The period was changed, which took that long. */
void waitrate_changed(struct waitrate *r, uint64_t period, uint64_t took_ns);

#endif
