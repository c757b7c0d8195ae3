#ifndef CPROF_SOURCE_SOURCE_H
#define CPROF_SOURCE_SOURCE_H

/*
 * Where records come from: live rings, or a saved stream.  Nothing behind this
 * interface can tell which, and nothing behind it asks the running machine.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct record;
struct source;

/* Facts of the machine that was (or is being) recorded. */
struct source_facts {
	char kernel_release[65];  /* uname -r */
	char arch[65];            /* uname -m */
	char hostname[65];
	uint32_t n_cpus;          /* online */
	bool running_kernel;      /* its kallsyms are this machine's */
};

/* What the source itself saw go wrong; monotonic counters. */
struct source_losses {
	uint64_t n_undecodable;   /* RECORD_BAD */
	uint64_t n_unknown;       /* RECORD_UNKNOWN */
	uint64_t n_out_of_order;  /* delivered after a younger record */
};

enum source_outcome {
	SOURCE_RECORD,  /* *ret_record holds one */
	SOURCE_IDLE,    /* nothing now; more may come */
	SOURCE_END,     /* nothing now or ever */
};

struct source_ops {
	/* Returns an enum source_outcome, or a negative errno with e set. */
	int (*next)(struct source *s, struct record *ret_record, struct err *e);
	void (*close)(struct source *s);
};

/* Embedded first in each kind of source. */
struct source {
	const struct source_ops *ops;
	struct source_facts facts;
	struct source_losses losses;
};

/* The record's pointers hold until the next call of source_next or source_close. */
static inline int source_next(struct source *s, struct record *ret_record, struct err *e)
{
	return s->ops->next(s, ret_record, e);
}

static inline void source_close(struct source *s)
{
	if (s)
		s->ops->close(s);
}

#endif
