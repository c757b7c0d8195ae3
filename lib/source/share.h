#ifndef CPROF_SOURCE_SHARE_H
#define CPROF_SOURCE_SHARE_H

/*
 * Several readers of one source.  The samples of a thread go to one of them; those of exiting tasks
 * without ids (tid UINT32_MAX), and all if an event is weighed by its counter, go to every reader,
 * as do all other records.
 *
 * Records come in rounds.  share_begin begins one.  Then each reader, in any thread, calls
 * share_scan; when all have, one calls share_plan; then each share_read, and share_next until it is
 * idle.  When all are, share_end ends the round.  Between rounds everything is as with one reader,
 * except that source_next must not be called.
 */

#include <stdint.h>

#include "source/source.h"

struct share_reader { const struct source *source; uint32_t index; };

/* The order of the records of all readers: by segment, then by `at`. */
struct share_place { uint64_t segment, at; };

struct share_ops {
	int (*set)(struct source *s, uint32_t n, struct err *e);
	uint64_t (*begin)(struct source *s);
	void (*scan)(struct source *s, uint32_t reader);
	void (*plan)(struct source *s);
	void (*read)(struct source *s, uint32_t reader);
	int (*next)(struct source *s, uint32_t reader, struct record *ret, struct err *e);
	void (*end)(struct source *s);
	struct share_place (*place)(const struct source *s, uint32_t reader);
	uint32_t (*reader_of)(const struct source *s, uint32_t tid);
	unsigned (*fullest_percent)(struct source *s);
};

/* From now on there are n readers; 1: as at first.  If there were already several, but less than n,
 * they keep their threads, except for some that the new ones get.  -EOPNOTSUPP, -ENOMEM with e set:
 * nothing has changed. */
int share_set(struct source *s, uint32_t n, struct err *e);

/* Begins a round; returns how many bytes wait. */
uint64_t share_begin(struct source *s);

/* A reader's part of reading the headers. */
void share_scan(struct source *s, uint32_t reader);
/* When all have: gives new threads to readers. */
void share_plan(struct source *s);
/* The beginning of a reader's records. */
void share_read(struct source *s, uint32_t reader);

/* As source_next. */
static inline int share_next(struct source *s, uint32_t reader, struct record *ret, struct err *e)
{
	return s->ops->share->next(s, reader, ret, e);
}

void share_end(struct source *s);

/* The place of a reader's present record. */
struct share_place share_place(const struct source *s, uint32_t reader);

/* How full the fullest ring was when its head was read; the most since the last call.  One reader
 * suffices. */
unsigned share_fullest_percent(struct source *s);

/* Which reader has a thread, for the rest of the round. */
uint32_t share_reader_of(const struct source *s, uint32_t tid);

#endif
