#ifndef CPROF_LABELS_GOTIMES_H
#define CPROF_LABELS_GOTIMES_H

/*
 * What is known of one place over time, from two kinds of evidence:
 *
 * - readings: who was there when its memory was read, and with which labels;
 * - changes: since when the labels have been others, reported at that moment by a breakpoint.
 *
 * A place is a struct g of Go's runtime, which one goroutine after the other uses; the number of a
 * goroutine is never used again.  So if the same one was there before and after a sample, it was
 * there meanwhile, and if every change was reported, its labels are exact.  They are exact, too,
 * between a change and the next one if the goroutine must have made both.
 *
 * If the creation of each goroutine was reported as well, the goroutine in a place is the one that
 * was created there last.  Then a creation, a change or a reading is enough: it is valid until the
 * next change or creation.
 *
 * The threads of a program are places, too: a thread runs one goroutine after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* Instead of a set: unknown. */
#define GOTIMES_UNKNOWN UINT32_MAX

struct gotimes_event {
	uint64_t time_ns;
	uint64_t until_ns;         /* a reading has seen some moment from time_ns to this one */
	uint64_t who;              /* of a reading; 0: nobody, or unknown */
	/* change: the goroutine cannot end before the next one, and until then its stack has a
	 * return address there; 0: it can */
	uint64_t slot;
	uint32_t set;              /* an id in labels, or GOTIMES_UNKNOWN */
	bool is_change;
	bool is_birth;             /* change: of a new goroutine, which gets its first labels */
	bool is_dead;              /* reading: who had ended, and has no labels any more */
	bool is_complete;          /* reading: every change since the last one was reported */
	bool is_close;             /* reading: a change may have been made just then */
};

struct gotimes {                   /* all zero: nothing is known */
	VEC(struct gotimes_event) event;   /* by time */
	uint64_t newest_ns;        /* of a reading; 0: none */
	uint64_t reported_ns, births_ns;   /* of the last reading */
};

/* The memory was read at some moment from before_ns to after_ns. */
struct gotimes_reading {
	uint64_t before_ns, after_ns;
	uint64_t who;
	uint32_t set;
	bool is_dead;
	uint64_t reported_ns;      /* every change since then was reported; 0: none is */
	uint64_t births_ns;        /* likewise: every creation of a goroutine */
};

/* No time before floor_ns will be looked up. */
enum gotimes_check {
	GOTIMES_FINE,
	GOTIMES_MISSED,            /* the labels have changed without a report */
	GOTIMES_NO_MEMORY,
};
/* All changes up to after_ns must have been added.  Times do not decrease. */
enum gotimes_check gotimes_read(struct gotimes *t, const struct gotimes_reading *r,
				uint64_t floor_ns);
struct gotimes_changed {
	uint64_t time_ns;
	uint32_t set;
	uint64_t slot;             /* see struct gotimes_event */
	bool is_birth;
};
/* False: no memory. */
bool gotimes_change(struct gotimes *t, const struct gotimes_changed *c, uint64_t floor_ns);

enum gotimes_how {
	GOTIMES_NOTHING,           /* nobody, or it cannot be known */
	GOTIMES_EXACT,
	GOTIMES_LATE,              /* the next reading says so: it may have changed meanwhile */
};

struct gotimes_answer {
	uint64_t who;              /* 0: unknown */
	uint32_t set;
	bool is_between;           /* late: there are readings of who before and after it, and */
	bool has_changed;          /* they differ */
	bool is_nobody;            /* there was nobody before and after it */
	uint64_t read_ns;          /* of the reading after it; 0: there is none */
	uint64_t slot;             /* of the change that proves it; 0: none does */
	bool is_owned;             /* exact: reported creations prove it */
};

/* Who had the place at that time, and its labels. */
enum gotimes_how gotimes_at(const struct gotimes *t, uint64_t time_ns, struct gotimes_answer *ret);

/* The labels of the goroutine that has the place at that time, if all changes and creations since
 * since_ns were reported, and added; otherwise GOTIMES_UNKNOWN. */
uint32_t gotimes_owned(const struct gotimes *t, uint64_t time_ns, uint64_t since_ns);

void gotimes_done(struct gotimes *t);

/* Calls each for every id of a set; each may change the id. */
void gotimes_each_set(struct gotimes *t, void (*each)(void *ctx, uint32_t *set), void *ctx);

#endif
