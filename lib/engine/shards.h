#ifndef CPROF_ENGINE_SHARDS_H
#define CPROF_ENGINE_SHARDS_H

/*
 * Engines that share the work of one.  Each is complete, sees all of the side band, and counts the
 * samples of its own threads (share_reader_of), so it can run in a thread of its own: nothing is
 * shared while records are fed.  The total engine sees the side band only; between rounds of
 * feeding, it gets what the shards have counted.
 *
 * Frames, stacks, label sets and counts get their ids in the total engine in the order of the
 * records that made them, so the profile is the same for any number of shards.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host.h"
#include "base/vec.h"
#include "engine/engine.h"

struct err;
struct record;

/* The sizes of the tables after a record. */
struct shards_step {
	struct share_place place;
	uint32_t n_frames, n_stacks, n_sets, n_counts;
};

struct shard {
	struct engine engine;
	struct host host;              /* the total engine's, with a struct foreign of its own */
	VEC(struct shards_step) step;  /* when tables grew since the last shards_absorb */
	struct shards_step base, last; /* the sizes then, and now */
	bool is_ready;                 /* for the caller, who has called shards_init */
	/* Set by the caller: stacks that nothing counts any more (they were truncated, and
	 * completed later) move, too, so that the others get the ids that one engine gives them. */
	bool moves_all;
	struct unwound seen;    /* what was added to the total engine's */
};

/* Shard number `index` of n for the readers of `shared`, which is borrowed; it knows what the total
 * engine knows of processes and targets.
 * Must not be moved.  -ENOMEM with e set. */
int shards_init(struct shard *s, const struct engine *total, const struct source *shared,
		uint32_t index, uint32_t n, struct err *e);
void shards_done(struct shard *s);

/* How many files each of n shards and the total engine may keep open. */
size_t shards_files_each(uint32_t n);

/* Before a round: takes over the window and other settings that the total engine's owner may have
 * changed. */
void shards_prepare(struct shard *s, const struct engine *total);

/* Feeds a record of the shard's own or of the side band. */
void shards_feed(struct shard *s, const struct record *r, struct share_place place);

/* After a round: moves numbers (samples, losses, how stacks ended) into the total engine, and
 * divides the memory that is left among all. */
void shards_add_up(struct shard *s, size_t n, struct engine *total);

/* Moves the counts into the total engine.  -ENOMEM with e set: it has a part of them, and the
 * shards have the rest. */
int shards_absorb(struct shard *s, size_t n, struct engine *total, struct err *e);

/* From now on the journal describes what is new. */
void shards_start_journal(struct shard *s);

/* Frees what neither living processes nor stacks need, if it is due: after shards_absorb. */
bool shards_is_due(const struct shard *s);
void shards_collect(struct shard *s);

/* The total engine was cleared: frees stacks, too, if it is due. */
void shards_clear(struct shard *s);

#endif
