#ifndef CPROF_RECORDER_COST_H
#define CPROF_RECORDER_COST_H

/* The cost of a recording to its targets; lowers rates that the machine cannot sustain. */

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cprof.h"
#include "recorder/ratecut.h"

struct engine_event;
struct err;
struct kind_session;
struct throttle;
struct window;

struct cost_event {
	struct ratecut adaptive;
	VEC(struct cprof_rate_cut) cuts;
	uint64_t n_lost;                     /* samples, for `adaptive` */
	uint64_t sample_cost_ns;             /* 0: unknown */
};

struct cost {
	/* Borrowed by cost_init. */
	const struct kind_session *session;  /* whose rates are lowered, if its config says so */
	const struct window *window;
	struct engine_event *seen;           /* per event of the session: the engine's */
	struct throttle *throttle;           /* the engine's */
	struct cost_event *event;            /* per event of the session */
	uint64_t n_records_lost;             /* of all events, when n_lost was counted */
};

/* The session is open.  -ENOMEM. */
int cost_init(struct cost *c, const struct kind_session *k, const struct window *w,
	      struct engine_event *seen, struct throttle *throttle);
void cost_done(struct cost *c);

/* The window opens: ratecut_judge counts from here. */
void cost_start(struct cost *c);

/* --adaptive: halves the rates of events that were throttled or lost samples.  -errno with e
 * set. */
int cost_adapt(struct cost *c, struct err *e);

/* Another profile begins: forgets the changes of rates. */
void cost_clear(struct cost *c);

/* After the last record: ends open throttling, measures what samples cost. */
void cost_stop(struct cost *c);

/* Set the fields that are known here; leave the others alone. */
void cost_stats(const struct cost *c, struct cprof_stats *ret);
void cost_event_stats(const struct cost *c, size_t event, struct cprof_event_stats *ret);

#endif
