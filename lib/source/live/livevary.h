#ifndef CPROF_SOURCE_LIVE_LIVEVARY_H
#define CPROF_SOURCE_LIVE_LIVEVARY_H

/* Clocks whose period changes from time to time. */

#include <stdbool.h>
#include <stdint.h>

struct live;
struct live_id;

/* Private. */
struct livevary {
	uint64_t state;
	double swing;         /* of the rate, in [-1, 1] */
	bool mirrored;        /* its mirror image comes next */
	uint64_t due_ns;      /* when the next change is due */
	uint64_t distance_ns; /* between changes; 0: no clock varies */
	bool is_known;        /* distance_ns is right: see livevary_renew */
};

/* From now on each sample of this clock stands for `period` ns. */
void live_note_period(struct live_id *id, uint64_t period);

/* Gives each clock with a frequency a new period if it is due; must follow a drain.  Returns after
 * how many ms to call it again; -1: no clock varies. */
int livevary_step(struct live *l, uint64_t now_ns);
/* Events were opened, closed or paused, or have another rate. */
void livevary_renew(struct live *l);

#endif
