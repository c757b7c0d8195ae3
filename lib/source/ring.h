#ifndef CPROF_SOURCE_RING_H
#define CPROF_SOURCE_RING_H

/*
 * One mmap ring of perf_event_open(2): a control page (struct perf_event_mmap_page) and a power of
 * two of data pages.  The kernel writes it; it is read here without copying, except for records
 * that wrap around the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include <sys/types.h>

struct err;
struct host;

/* More than a record can have. */
#define RING_WRAP_BYTES (64u << 10)

struct ring {
	void *base;            /* control page; NULL: closed */
	uint8_t *data;         /* and RING_WRAP_BYTES after it, for a record that wraps */
	uint64_t n_data_bytes; /* power of two */
	uint64_t head;         /* as last read */
	uint64_t tail;         /* first byte not yet consumed by ring_next */
	uint64_t released;     /* the kernel may overwrite everything before */
	uint64_t peak;         /* the most that was in it at ring_fetch; the caller may clear it */
	bool overrun;          /* head - tail exceeded the data size: contents were dropped */
	uint64_t n_broken;     /* records with an impossible size: what followed was skipped */
	size_t n_mapped_bytes; /* 0: the memory is the caller's */
	pid_t owner;           /* the process that mapped it; children do not inherit it */
	struct ring_share *share; /* NULL: this is the ring's only reader */
};

/* Several readers of one ring: what all of them have released is released. */
struct ring_share {
	uint32_t n_readers;
	uint64_t released[];   /* by reader */
};

/* Maps the ring of perf descriptor fd.  n_data_pages is a power of two.  -EPERM (the limit of
 * locked memory, which e explains by h's settings), -ENOMEM, -EINVAL with e set. */
int ring_open(struct ring *r, const struct host *h, int fd, size_t n_data_pages, struct err *e);

/* The largest ring, in bytes of data, that the limits of locked memory allow on each CPU, if
 * nothing else is locked; UINT64_MAX: any. */
uint64_t ring_fitting_bytes(const struct host *h);

/* A ring over the caller's memory, in the kernel's layout: a control page, then the data, a power
 * of two of bytes, and RING_WRAP_BYTES of room.  -EINVAL. */
int ring_open_memory(struct ring *r, void *base, size_t n_data_bytes);

void ring_close(struct ring *r);

/* What n readers of r need; NULL: no memory.  Then, between rounds of reading: from now on r has
 * them, or, with NULL, one reader as at first.  r owns it. */
struct ring_share *ring_share_new(const struct ring *r, uint32_t n_readers);
void ring_share(struct ring *r, struct ring_share *share);

/* Reads data_head with acquire semantics into r->head, and returns it.  If it is more than the data
 * size away, sets overrun and skips to it. */
uint64_t ring_fetch(struct ring *r);

/* Borrows the record at position r->tail, if all of it is before r->head, and advances r->tail.
 * NULL: there is none.  The bytes are valid until ring_release; those of a record that wraps, until
 * the next one that does. */
const void *ring_next(struct ring *r, size_t *ret_n_bytes);

static inline uint64_t ring_offset(const struct ring *r, uint64_t position)
{
	return position & (r->n_data_bytes - 1);
}

/* The record at the same position again, while its bytes are valid, in any thread. */
static inline const void *ring_at(const struct ring *r, uint64_t position, size_t *ret_n_bytes)
{
	const uint8_t *p = r->data + ring_offset(r, position);
	*ret_n_bytes = ((const struct perf_event_header *)p)->size;
	return p;
}

/* Asks for the cache lines that decoding the record at a position needs, if it has n_bytes. */
void ring_ask(const struct ring *r, uint64_t position, size_t n_bytes);

/* Allows the kernel to overwrite everything before r->tail (data_tail, release). */
void ring_release(struct ring *r);

/* Like ring_release, up to an earlier value of r->tail: records returned since then stay valid. */
void ring_release_to(struct ring *r, uint64_t position);

/* One of several readers releases; each may, in its own thread. */
void ring_release_of(const struct ring *r, uint32_t reader, uint64_t position);

/* All readers are here: goes on at this position, and releases everything before. */
void ring_end(struct ring *r, uint64_t position);

/* Unread bytes, as of the last ring_fetch. */
static inline uint64_t ring_waiting(const struct ring *r)
{
	return r->head - r->tail;
}

#endif
