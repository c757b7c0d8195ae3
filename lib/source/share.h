#ifndef CPROF_SOURCE_SHARE_H
#define CPROF_SOURCE_SHARE_H

/*
 * Several readers of one source.  The samples of a thread go to the reader that share_reader_of
 * names; those of exiting tasks without ids (tid UINT32_MAX), and all if an event is weighed by its
 * counter, go to every reader, as do all other records.
 *
 * Records come in rounds.  share_begin begins one.  Then each reader calls share_next until it is
 * idle, in any thread.  Between rounds everything is as with one reader, except that source_next
 * must not be called.
 */

#include <stdint.h>

#include "source/source.h"

struct share_ops {
	int (*set)(struct source *s, uint32_t n, struct err *e);
	uint64_t (*begin)(struct source *s);
	int (*next)(struct source *s, uint32_t reader, struct record *ret, struct err *e);
	uint64_t (*position)(const struct source *s, uint32_t reader);
};

/* From now on there are n readers; 1: as at first.  -EOPNOTSUPP, -ENOMEM with e set: there is one.
 */
int share_set(struct source *s, uint32_t n, struct err *e);

/* Begins a round; returns how many bytes wait. */
uint64_t share_begin(struct source *s);

/* As source_next. */
static inline int share_next(struct source *s, uint32_t reader, struct record *ret, struct err *e)
{
	return s->ops->share->next(s, reader, ret, e);
}

/* The number of records up to a reader's present one, those of other readers included: it orders
 * the records of all readers. */
uint64_t share_position(const struct source *s, uint32_t reader);

/* Threads of a pool have successive ids, and compilers of a build every second or third one: the
 * golden ratio spreads both evenly. */
static inline uint32_t share_reader_of(uint32_t tid, uint32_t n)
{
	return (uint32_t)((uint64_t)(tid * 2654435769u) * n >> 32);
}

#endif
