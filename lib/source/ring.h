#ifndef CPROF_SOURCE_RING_H
#define CPROF_SOURCE_RING_H

/*
 * One mmap ring of perf_event_open(2): a control page (struct
 * perf_event_mmap_page) and a power of two of data pages, written by the kernel
 * and read here without copying, except for records that wrap around the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;

struct ring {
	void *base;            /* control page; NULL when closed */
	const uint8_t *data;
	uint64_t n_data_bytes; /* power of two */
	uint64_t head;         /* as last read from the kernel */
	uint64_t tail;         /* first byte not yet consumed by ring_next */
	uint64_t released;     /* the kernel may overwrite what lies before */
	bool overrun;          /* head - tail exceeded the data size: contents were dropped */
	uint64_t n_broken;     /* records whose size could not be: the rest was skipped */
	uint8_t *wrap;         /* 64 KiB, for a record that wraps; allocated at open */
	size_t n_mapped_bytes; /* 0: the memory is not ours to unmap */
	pid_t owner;           /* the process that mapped it: its children do not have it */
};

/* Maps the ring of perf descriptor fd.  n_data_pages is a power of two.  -EPERM (the limit of
 * locked memory, which e explains by h's settings), -ENOMEM, -EINVAL with e set. */
int ring_open(struct ring *r, const struct host *h, int fd, size_t n_data_pages, struct err *e);

/* A ring over memory of the caller's, as the kernel lays it out: a control page, behind it the
 * data, a power of two of bytes.  -EINVAL, -ENOMEM. */
int ring_open_memory(struct ring *r, void *base, size_t n_data_bytes);

void ring_close(struct ring *r);

/* Reads data_head with acquire semantics into r->head, and returns it.  A head that is more than
 * the data size ahead (or behind) sets overrun, and all up to it is skipped. */
uint64_t ring_fetch(struct ring *r);

/* Borrows the record at position r->tail, if one lies wholly before r->head, and moves
 * r->tail behind it.  NULL when there is none.  The bytes hold until ring_release, those of
 * a record that wraps around the end until the next ring_next. */
const void *ring_next(struct ring *r, size_t *ret_n_bytes);

/* Tells the kernel that all before r->tail may be overwritten (data_tail, release). */
void ring_release(struct ring *r);

/* As ring_release, for what lies before a position that was r->tail once: records behind it
 * that ring_next has already given are kept. */
void ring_release_to(struct ring *r, uint64_t position);

/* Bytes that wait, by the last ring_fetch. */
static inline uint64_t ring_waiting(const struct ring *r)
{
	return r->head - r->tail;
}

#endif
