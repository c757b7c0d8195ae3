#ifndef CPROF_CMD_SERVE_PARTS_H
#define CPROF_CMD_SERVE_PARTS_H

/* The parts of a recording that clients still need, each a gzipped profile. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;
struct hub_body;

struct part {
	uint64_t begin, end;           /* numbers of the parts that it contains: [begin, end) */
	struct hub_body *body;
};

struct parts {
	uint64_t end;                  /* how many parts there have been */
	VEC(struct part) part;         /* in order, without gaps */
	struct part merged;            /* the last result; body NULL: none */
};

/* Appends the next part.  Takes data over, even on failure; -ENOMEM. */
int parts_add(struct parts *p, char *data, size_t n_bytes, uint64_t n_samples, uint64_t n_lost);

/* The profile of [begin, end), which begin and end at parts; a reference for the caller.  -errno
 * with e set. */
int parts_merge(struct parts *p, uint64_t begin, uint64_t end, struct hub_body **ret,
		struct err *e);

/* Removes what ends at `first` or before. */
void parts_forget(struct parts *p, uint64_t first);

/* With many short windows there would be more and more parts of one long window. */
bool parts_are_many(const struct parts *p);

/* Merges neighbours, except where one of the n windows begins. */
void parts_compact(struct parts *p, const uint64_t *window, size_t n);

void parts_done(struct parts *p);

#endif
