#ifndef CPROF_RECORDER_KINDS_SCOPESWITCH_H
#define CPROF_RECORDER_KINDS_SCOPESWITCH_H

/*
 * When events of threads miss too much, and when they suffice again.
 *
 * A thread has a timer of its own on each CPU.  What is left of a period when the thread ends is
 * not sampled: half a period on average, and all of it if the thread lives for less than one.
 * Events of CPUs miss nothing, but read the samples of all other tasks.
 */

#include <stdbool.h>
#include <stdint.h>

/* Totals so far; amounts are in the unit of the event's values. */
struct scopeswitch_seen {
	uint64_t now_ns;
	uint64_t n_born;               /* threads and processes of the target */
	uint64_t n_samples, n_foreign; /* of the target; of others, which cprof dropped */
	uint64_t covered;              /* what the samples stand for, lost ones included */
	uint64_t counted;              /* by the events' counters, of short threads, too: exact */
	bool counted_known;
	uint64_t used;                 /* by the kernel's account, of removed events, too */
	bool used_known;
	uint64_t used_error;           /* of a difference of two accounts */
	uint64_t period;               /* of a sample; 0: unknown */
};

struct scopeswitch {
	bool is_cpu;                   /* events of CPUs are open */
	struct scopeswitch_seen base;  /* when the present look began */
	bool has_base;
	unsigned n_looks;              /* in a row that argue for a change */
	bool is_calm;                  /* no births since base */
	struct scopeswitch_seen quiet; /* since when no short threads matter, in is_cpu */
	bool is_quiet;
	uint64_t hold_ns;              /* how long a change to CPUs holds at least; 0: none yet */
	uint64_t back_ns;              /* when the scope last went back to threads */
	uint64_t retry_ns;             /* after a change that failed: not before, */
	uint64_t pause_ns;             /* so long after the last one */
};

enum scopeswitch_verdict { SCOPESWITCH_STAY, SCOPESWITCH_TO_CPU, SCOPESWITCH_TO_TASK };

/* Would an account help now?  Reading it costs some microseconds per process. */
bool scopeswitch_wants_account(struct scopeswitch *w, const struct scopeswitch_seen *now);

/* *ret_percent: of what was used, that was not sampled (for SCOPESWITCH_TO_CPU). */
enum scopeswitch_verdict scopeswitch_look(struct scopeswitch *w,
					  const struct scopeswitch_seen *now,
					  unsigned *ret_percent);

/* Milliseconds after which the next look is due; -1: no look of its own is needed. */
int scopeswitch_timeout_ms(const struct scopeswitch *w);

/* The change was made, or failed. */
void scopeswitch_changed(struct scopeswitch *w, const struct scopeswitch_seen *now, bool is_cpu);
void scopeswitch_failed(struct scopeswitch *w, uint64_t now_ns);

/* Sampling is paused: the next look begins anew. */
void scopeswitch_interrupt(struct scopeswitch *w);

#endif
