#ifndef CPROF_RECORDER_READERS_H
#define CPROF_RECORDER_READERS_H

/*
 * The threads that read the rings.  At first there is one, the caller's, and one engine.  With
 * more, the samples are divided among as many engines (engine/shards.h), and the caller's thread
 * runs the first of them.  The others work only within readers_drain: outside of it the caller may
 * use all engines as if there were no threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/shards.h"
#include "recorder/readerload.h"
#include "engine/readerpool.h"

struct err;
struct source;

struct readers {
	/* Borrowed by readers_init. */
	struct source *source;
	struct engine *total;          /* has everything after readers_absorb */
	struct readerpool pool;        /* the caller may set its on_thread */

	struct readerload load;        /* with its max, their number follows the load */
	uint32_t n_room;               /* of shard */
	uint32_t n_next;               /* while shards are added: then there are so many */
	uint32_t n;                    /* shards; 0: the total engine reads alone */
	uint64_t left_ns;              /* private: readers_note_left */
	uint32_t n_max, n_changes;     /* the most readers so far; how often load changed it */
	struct shard *shard;
};

void readers_init(struct readers *rs, struct source *source, struct engine *total);
void readers_done(struct readers *rs);

/* Divides the work among n readers.  If there is room for more, the others keep their counts; else
 * these are absorbed.  -errno with e set: no change, or there is one reader. */
int readers_set(struct readers *rs, uint32_t n, struct err *e);

/* With shards: feeds all records that wait. */
int readers_drain(struct readers *rs, struct err *e);

/* After the work that follows a drain. */
void readers_note_left(struct readers *rs, uint64_t now_ns);

/* After each drain, which lasted from begin_ns to end_ns: more readers or fewer, if their number
 * follows the load (readerload.h).  Returns how many there are now. */
uint32_t readers_adapt(struct readers *rs, uint64_t begin_ns, uint64_t end_ns);

/* Moves the counts of all shards into the total engine; with one reader, does nothing. */
int readers_absorb(struct readers *rs, struct err *e);

/* After readers_absorb, when the total engine was cleared. */
void readers_clear(struct readers *rs);

/* Collects the shards' garbage if that is due. */
int readers_collect(struct readers *rs, uint64_t now_ns, struct err *e);

/* As functions_due_ns, applabels_timeout_ms and jit_poll, for all engines. */
uint64_t readers_functions_due_ns(struct readers *rs, uint64_t now_ns);
int readers_labels_timeout_ms(const struct readers *rs);
void readers_poll_jit(struct readers *rs, uint64_t now_ns, bool is_forced);

#endif
