#ifndef CPROF_CMD_REALTIME_H
#define CPROF_CMD_REALTIME_H

/*
 * Real-time priority for the threads that read the rings.  At normal priority they starve when
 * there are more runnable threads than CPUs, and rings overflow.  They sleep most of the time, and
 * return to normal priority before long work (names) begins.
 *
 * The kernel keeps a part of each CPU for normal tasks, which a real-time reader is not: while
 * other real-time threads never sleep, it would wait for ever, and not react to signals.  So a
 * watchdog thread of normal priority gives up the priority of all readers as soon as one of them is
 * runnable but gets no CPU.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What the watchdog has seen of one reader. */
struct realtime_seen {
	uint64_t cpu_ns;      /* CPU time that it has used */
	uint64_t since_ns;    /* it has not run since then, though it could have */
	unsigned n;           /* looks since then */
};

struct realtime_reader;

enum realtime_state {
	REALTIME_NO,          /* not wanted or not allowed */
	REALTIME_YES,
	REALTIME_DROPPED,     /* by the watchdog, for the rest of the recording */
};

struct realtime {
	struct realtime_reader *first; /* never removed before realtime_stop */
	pthread_t watchdog;
	pthread_mutex_t lock;          /* only for the watchdog's sleep */
	pthread_cond_t wake;
	uint64_t look_ns;
	bool is_started, is_ending;
	int state;                     /* enum realtime_state */
};

/* Starts the watchdog, which looks at the readers that often.  wanted: false makes all of this do
 * nothing, as does a failure, after which the readers keep normal priority. */
#define REALTIME_LOOK_NS UINT64_C(250000000)
void realtime_start(struct realtime *w, bool wanted, uint64_t look_ns);

/* Raises the priority of the calling thread, unless the watchdog has given it up, or the process
 * may not do so.  Each reader calls it for itself. */
void realtime_raise(struct realtime *w);

/* Returns the calling thread to normal priority: before long work, and before it ends. */
void realtime_lower(struct realtime *w);

/* cprof_config.on_reader: raises the priority of a recorder's thread, or lowers it; ctx: a struct
 * realtime. */
void realtime_on_reader(void *ctx, bool begins);

enum realtime_state realtime_state(const struct realtime *w);

/*
 * While events are opened: raises the calling thread within normal priority (nice -10), because on
 * a busy machine most of the time until the first sample is spent waiting for a CPU.  Real-time
 * priority could be withheld for ever by other real-time threads.  *ret_nice is for realtime_calm,
 * which comes before other threads are started.  False: it may not, or it is nice already.
 */
bool realtime_hurry(int *ret_nice);
void realtime_calm(int nice);

/* "yes", "no", "dropped" */
const char *realtime_state_name(enum realtime_state state);

/* Ends the watchdog, and waits for it.  The readers have returned to normal priority. */
void realtime_stop(struct realtime *w);

/*
 * One look at a reader: true if it gets no CPU.  late_ns: how much later than planned this look
 * comes; as long as the watchdog itself got no CPU, the reader probably got none, too.  One more
 * look must confirm that: after a virtual machine was stopped, both are late once.
 */
bool realtime_look(struct realtime_seen *seen, uint64_t cpu_ns, bool is_runnable, uint64_t now_ns,
		   uint64_t late_ns);

#endif
