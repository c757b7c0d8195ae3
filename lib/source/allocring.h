#ifndef CPROF_SOURCE_ALLOCRING_H
#define CPROF_SOURCE_ALLOCRING_H

/*
 * The reading side of source/allocformat.h: samples of blocks that libcprof-alloc.so has written
 * into a memfd.  The recorded program may write anything into it, at any time: each record is
 * copied, then decoded and checked; nothing else of the memory is believed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/allocformat.h"
#include "source/record.h"

struct err;

struct allocring_losses { uint64_t n_allocs, n_frees, n_untracked; };

struct allocring {
	struct allocformat_head *head;   /* shared with the program */
	uint8_t *data;                   /* twice the same, one after the other; NULL: closed */
	uint32_t data_bytes;
	uint64_t tail;                   /* read so far */
	uint64_t first, n_populated; /* bytes from first on that are allocated */
	int fd;                          /* the memfd */
	uint64_t device, inode;
	uint32_t number;                 /* of this recording, in head->active; 0: none */
	bool has_frees;
	uint32_t lock_tid;             /* private: who had the lock at since_ns, */
	uint64_t since_ns, since_head;   /* and where the head was */
	bool is_bad;                     /* it holds something else: read no more */
	struct allocring_losses before;  /* when the recording began */
	uint64_t *copy;                  /* of the record that was read last */
};

/* Makes a ring for the processes of a command.  -errno with e set. */
int allocring_make(struct allocring *r, uint32_t data_bytes, struct err *e);

/*
 * Maps the ring of a descriptor, which the ring owns from then on, also after a failure.
 * -EINVAL: the file is not a ring, or may shrink.
 */
int allocring_open(struct allocring *r, int fd);
void allocring_close(struct allocring *r);

/* Begins the recording: from now on the program writes, with ends of blocks if has_frees.  -EBUSY:
 * another profiler reads it. */
int allocring_start(struct allocring *r, uint64_t mean, uint32_t stack_bytes, bool has_frees);
void allocring_stop(struct allocring *r);

/* Shows the program that it is still read, and frees the lock of a writer that does not go on. */
void allocring_tend(struct allocring *r, uint64_t now_ns);

/*
 * The next record written up to until_ns: a SAMPLE whose id is an enum allocformat_id; its pointers
 * are valid until the next call.  False: there is none now.
 */
bool allocring_next(struct allocring *r, uint64_t until_ns, struct record *ret);

/* Bytes that wait to be read. */
uint64_t allocring_waiting(const struct allocring *r);

/* What the program could not deliver since allocring_start. */
struct allocring_losses allocring_losses(const struct allocring *r);

/* A record as it was copied; false: it is no sample of a block.  For tests, too. */
bool allocring_decode(const void *raw, size_t n_bytes, struct record *ret);

#endif
