#ifndef CPROF_SOURCE_DIVIDE_H
#define CPROF_SOURCE_DIVIDE_H

/* Which reader has which thread.  It changes only between rounds. */

#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"

#define DIVIDE_NONE UINT32_MAX

struct divide_thread { uint32_t tid, reader; };

struct divide {
	uint32_t n;                    /* readers */
	uint64_t *load;                /* by reader: its samples of the last rounds */
	VEC(struct divide_thread) thread;
	struct hashindex by_tid;
};

/* -ENOMEM. */
int divide_init(struct divide *d, uint32_t n_readers);
void divide_done(struct divide *d);

/* From now on there are n readers, more than before.  The new ones get their part of the threads,
 * the others keep the rest.  -ENOMEM with nothing changed. */
int divide_grow(struct divide *d, uint32_t n);

/* DIVIDE_NONE: the thread was not added. */
uint32_t divide_find(const struct divide *d, uint32_t tid);

/* The reader of any thread; of one that was not added, by its id. */
uint32_t divide_reader(const struct divide *d, uint32_t tid);

/* A thread, which has n samples in this round, gets the reader with the least to do.  If memory is
 * short, it stays as it is. */
void divide_add(struct divide *d, uint32_t tid, uint64_t n_samples);

/* After a round: a reader had n samples. */
void divide_note(struct divide *d, uint32_t reader, uint64_t n_samples);

/* After that: forgets all threads, if there are many, so that ended ones use no memory for ever. */
void divide_forget(struct divide *d);

#endif
