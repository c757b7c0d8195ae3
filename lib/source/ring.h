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
#include <sys/types.h>

struct err;
struct host;

struct ring {
	void *base;            /* control page; NULL: closed */
	const uint8_t *data;
	uint64_t n_data_bytes; /* power of two */
	uint64_t head;         /* as last read */
	uint64_t tail;         /* first byte not yet consumed by ring_next */
	uint64_t released;     /* the kernel may overwrite everything before */
	uint64_t peak;         /* the most that was in it at ring_fetch; the caller may clear it */
	bool overrun;          /* head - tail exceeded the data size: contents were dropped */
	uint64_t n_broken;     /* records with an impossible size: what followed was skipped */
	uint8_t *wrap;         /* 64 KiB, for a record that wraps; allocated at open */
	size_t n_mapped_bytes; /* 0: the memory is the caller's */
	pid_t owner;           /* the process that mapped it; children do not inherit it */
	struct ring_share *share; /* NULL: this is the ring's only reader */
	uint32_t view;         /* index in share */
};

/* Several readers of one ring, each with a struct ring of its own: a view.  What all of them have
 * released is released. */
struct ring_share {
	uint32_t n_views;
	uint64_t released[];   /* by view */
};

/* Maps the ring of perf descriptor fd.  n_data_pages is a power of two.  -EPERM (the limit of
 * locked memory, which e explains by h's settings), -ENOMEM, -EINVAL with e set. */
int ring_open(struct ring *r, const struct host *h, int fd, size_t n_data_pages, struct err *e);

/* A ring over the caller's memory, in the kernel's layout: a control page, then the data, a power
 * of two of bytes.  -EINVAL, -ENOMEM. */
int ring_open_memory(struct ring *r, void *base, size_t n_data_bytes);

void ring_close(struct ring *r);

/* Makes r view 0 of n, before or between rounds of reading.  -ENOMEM with nothing changed. */
int ring_share(struct ring *r, uint32_t n_views);

/* Opens a further view of what r has not released, to be closed before r.  -ENOMEM. */
int ring_open_view(struct ring *ret_view, const struct ring *r, uint32_t view);

/* Takes over the head that another view has fetched. */
void ring_follow(struct ring *view, const struct ring *r);

/* Makes r the ring's only reader again; the other views are closed. */
void ring_unshare(struct ring *r);

/* Reads data_head with acquire semantics into r->head, and returns it.  If it is more than the data
 * size away, sets overrun and skips to it. */
uint64_t ring_fetch(struct ring *r);

/* Borrows the record at position r->tail, if all of it is before r->head, and advances r->tail.
 * NULL: there is none.  The bytes are valid until ring_release; those of a record that wraps, until
 * the next ring_next. */
const void *ring_next(struct ring *r, size_t *ret_n_bytes);

/* Allows the kernel to overwrite everything before r->tail (data_tail, release). */
void ring_release(struct ring *r);

/* Like ring_release, up to an earlier value of r->tail: records returned since then stay valid. */
void ring_release_to(struct ring *r, uint64_t position);

/* Unread bytes, as of the last ring_fetch. */
static inline uint64_t ring_waiting(const struct ring *r)
{
	return r->head - r->tail;
}

#endif
