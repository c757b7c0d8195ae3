/*
 * data_head and data_tail count bytes since the start and never wrap; a position's offset in the
 * data is its remainder by the (power of two) size.  The kernel publishes a record by advancing
 * data_head, and never writes beyond data_tail + size.  The protocol (comment of struct
 * perf_event_mmap_page): read data_head, then the data (acquire); read the data, then write
 * data_tail (release).
 *
 * Records are aligned to 8 bytes, so a header never wraps, only the data after it.  ring_next
 * relies on that when it reads the header in place, so it is enforced on head and tail.  It copies
 * what is at the ring's beginning to the memory after its end: then the record is in one piece.
 */

#include "source/ring.h"

#include "base/err.h"
#include "base/host.h"
#include "base/rights.h"
#include "base/rights.h"
#include "base/units.h"
#include "source/record.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

_Static_assert(RING_WRAP_BYTES > RECORD_BYTES_MAX, "the end of any record fits");

static struct perf_event_mmap_page *control(const struct ring *r)
{
	return r->base;
}

/* The largest number of data pages per ring that an unprivileged user gets if each CPU has one ring
 * and nothing else is locked: perf_mmap() grants a user perf_event_mlock_kb per online CPU, and
 * charges the rest to the process's RLIMIT_MEMLOCK. */
static uint64_t fitting_pages(uint64_t free_bytes, uint64_t locked_bytes, uint64_t n_cpus,
			      uint64_t page_bytes)
{
	uint64_t total = locked_bytes > UINT64_MAX / 2 ? UINT64_MAX / 2 : locked_bytes;
	total += free_bytes * n_cpus;
	uint64_t n_pages = total / n_cpus / page_bytes;
	uint64_t fits = 1;
	while (fits * 2 + 1 <= n_pages && fits < UINT64_C(1) << 40)
		fits *= 2;
	return fits + 1 <= n_pages ? fits : 0;
}

static uint64_t mlock_kb(const struct host *h)
{
	long kb;
	if (!h || host_read_long(h, HOST_PROC, &kb, "sys/kernel/perf_event_mlock_kb") < 0 ||
	    kb < 0 || kb >= 1 << 30)
		return 516;  /* the kernel's default */
	return (uint64_t)kb;
}

uint64_t ring_fitting_bytes(const struct host *h)
{
	struct rlimit limit = { .rlim_cur = 0 };
	long paranoid, n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	/* As perf_mmap() in kernel/events/core.c. */
	bool is_free = h && host_read_long(h, HOST_PROC, &paranoid,
					   "sys/kernel/perf_event_paranoid") == 0 && paranoid < 0;
	if (is_free || rights_permitted() >> CAP_IPC_LOCK & 1 ||
	    getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return page * fitting_pages(mlock_kb(h) * 1024, limit.rlim_cur,
				    n_cpus > 0 ? (uint64_t)n_cpus : 1, page);
}

static int explain_eperm(const struct host *h, uint64_t n_ring_bytes, struct err *e)
{
	char size[UNITS_TEXT_MAX], fits_text[UNITS_TEXT_MAX], limit_text[32] = "unlimited";
	int r = err_errno(e, EPERM, "cannot map a ring of %s",
			  units_size_text(n_ring_bytes, size));
	struct rlimit limit = { .rlim_cur = 0 };
	getrlimit(RLIMIT_MEMLOCK, &limit);
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = n_cpus > 0 ? (uint64_t)n_cpus : 1;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t fits = fitting_pages(mlock_kb(h) * 1024, limit.rlim_cur, n, page) * page;
	if (limit.rlim_cur != RLIM_INFINITY)
		units_size_text(limit.rlim_cur, limit_text);
	char advice[128] = "no ring fits: ";
	if (fits && fits < n_ring_bytes)
		snprintf(advice, sizeof(advice), "%s per CPU would fit: request that, ",
			 units_size_text(fits, fits_text));
	else if (fits)
		snprintf(advice, sizeof(advice),
			 "other rings of this user take the rest: request less, ");
	err_hint(e,
		 "locked memory is limited to kernel.perf_event_mlock_kb (%llu KiB) for each of"
		 " %llu CPUs plus RLIMIT_MEMLOCK (%s)\n%sraise these limits, or grant"
		 " CAP_IPC_LOCK",
		 (unsigned long long)mlock_kb(h), (unsigned long long)n, limit_text, advice);
	return r;
}

/* Room for the ring and, after it, for the end of a record that wraps.  NULL: errno. */
static void *reserve(size_t n_ring_bytes)
{
	uint8_t *base = mmap(NULL, n_ring_bytes + RING_WRAP_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	/* A forked child does not have the ring either. */
	madvise(base, n_ring_bytes + RING_WRAP_BYTES, MADV_DONTFORK);
	return base;
}

static int explain_map(const struct host *h, uint64_t n_data_bytes, int errnum, struct err *e)
{
	char size[UNITS_TEXT_MAX];
	if (errnum == EPERM)
		return explain_eperm(h, n_data_bytes, e);
	err_errno(e, errnum, "cannot map a ring of %s", units_size_text(n_data_bytes, size));
	if (errnum == ENOMEM)
		err_hint(e, "there is one for each CPU: use a smaller --ring-size");
	return -errnum;
}

int ring_open(struct ring *r, const struct host *h, int fd, size_t n_data_pages, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!n_data_pages || n_data_pages & (n_data_pages - 1) ||
	    n_data_pages > SIZE_MAX / page / 2)
		return err_set(e, EINVAL, "cannot map a ring of %zu pages: not a power of two",
			       n_data_pages);
	uint64_t n_data_bytes = (uint64_t)n_data_pages * page;
	void *base = reserve(page + n_data_bytes);
	if (!base)
		return explain_map(h, n_data_bytes, errno, e);
	CLEANUP_RIGHTS bool raised = rights_raise();
	if (mmap(base, page + n_data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED) {
		int errnum = errno;
		munmap(base, page + n_data_bytes + RING_WRAP_BYTES);
		return explain_map(h, n_data_bytes, errnum, e);
	}
	*r = (struct ring){
		.base = base, .data = (uint8_t *)base + page, .n_data_bytes = n_data_bytes,
		.n_mapped_bytes = page + n_data_bytes + RING_WRAP_BYTES, .owner = getpid(),
	};
	return 0;
}

int ring_open_memory(struct ring *r, void *base, size_t n_data_bytes)
{
	if (n_data_bytes < 8 || n_data_bytes & (n_data_bytes - 1))
		return -EINVAL;
	*r = (struct ring){
		.base = base, .data = (uint8_t *)base + sysconf(_SC_PAGESIZE),
		.n_data_bytes = n_data_bytes,
	};
	return 0;
}

void ring_close(struct ring *r)
{
	/* A forked child does not inherit the ring: other memory may be in its place. */
	if (r->n_mapped_bytes && r->owner == getpid())
		munmap(r->base, r->n_mapped_bytes);
	free(r->share);
	*r = (struct ring){ 0 };
}

static inline void set_head(struct ring *r, uint64_t head)
{
	if (head - r->tail > r->n_data_bytes) {
		r->overrun = true;
		r->tail = head;
	}
	if (head - r->released > r->peak)
		r->peak = head - r->released;
	r->head = head;
}

uint64_t ring_fetch(struct ring *r)
{
	set_head(r, __atomic_load_n(&control(r)->data_head, __ATOMIC_ACQUIRE) & ~UINT64_C(7));
	return r->head;
}

/*
 * Another CPU wrote the records, so each cache line is a miss.  While one record is processed,
 * fetch what decoding the next one needs: its start with the registers, and the length of its stack
 * copy, which is at its end if it is as long as this one.  Tried and rejected: fetching the inner
 * end of the copy, too, since most records may belong to processes that are not targets.
 */
#define AHEAD_BYTES 320u
#define LINE_BYTES 64u

void ring_ask(const struct ring *r, uint64_t position, size_t n_bytes)
{
	uint64_t n = n_bytes < AHEAD_BYTES ? n_bytes : AHEAD_BYTES;
	if (r->head - position < n)
		return;
	for (uint64_t i = 0; i < n; i += LINE_BYTES)
		__builtin_prefetch(r->data + ring_offset(r, position + i));
	__builtin_prefetch(r->data + ring_offset(r, position + n_bytes - 8));
}

static const void *skip_rest(struct ring *r)
{
	r->n_broken++;
	r->tail = r->head;
	return NULL;
}

/* The headers of the next records are fetched as if these were as long as this one. */
static inline void ask_headers(const struct ring *r, size_t n_bytes)
{
	__builtin_prefetch(r->data + ring_offset(r, r->tail + n_bytes));
	__builtin_prefetch(r->data + ring_offset(r, r->tail + 3 * n_bytes));
}

const void *ring_next(struct ring *r, size_t *ret_n_bytes)
{
	uint64_t n_waiting = ring_waiting(r);
	if (!n_waiting)
		return NULL;
	const void *p = ring_at(r, r->tail, ret_n_bytes);
	uint64_t size = *ret_n_bytes, n_before_end = r->n_data_bytes - ring_offset(r, r->tail);
	if (size < RECORD_BYTES_MIN || size % 8 || size > n_waiting)
		return skip_rest(r);
	if (size > n_before_end)
		memcpy(r->data + r->n_data_bytes, r->data, size - n_before_end);
	r->tail += size;
	ask_headers(r, size);
	return p;
}

static uint64_t *tail_of(const struct ring *r)
{
	return (uint64_t *)&control(r)->data_tail;
}

void ring_release_to(struct ring *r, uint64_t position)
{
	if (position == r->released)
		return;
	r->released = position;
	__atomic_store_n(tail_of(r), position, __ATOMIC_RELEASE);
}

void ring_release(struct ring *r)
{
	ring_release_to(r, r->tail);
}

/* ---- several readers ----------------------------------------------------------- */

struct ring_share *ring_share_new(const struct ring *r, uint32_t n_readers)
{
	struct ring_share *s = calloc(1, sizeof(*s) + n_readers * sizeof(s->released[0]));
	if (!s)
		return NULL;
	s->n_readers = n_readers;
	for (uint32_t i = 0; i < n_readers; i++)
		s->released[i] = r->released;
	return s;
}

void ring_share(struct ring *r, struct ring_share *share)
{
	free(r->share);
	r->share = share;
}

/* The reader that is last releases; two may be last at the same time. */
void ring_release_of(const struct ring *r, uint32_t reader, uint64_t position)
{
	struct ring_share *s = r->share;
	__atomic_store_n(&s->released[reader], position, __ATOMIC_RELEASE);
	uint64_t least = position, *tail = tail_of(r);
	for (uint32_t i = 0; i < s->n_readers; i++) {
		uint64_t other = __atomic_load_n(&s->released[i], __ATOMIC_ACQUIRE);
		least = (int64_t)(other - least) < 0 ? other : least;
	}
	uint64_t now = __atomic_load_n(tail, __ATOMIC_RELAXED);
	while ((int64_t)(least - now) > 0 &&
	       !__atomic_compare_exchange_n(tail, &now, least, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

void ring_end(struct ring *r, uint64_t position)
{
	r->tail = position;
	for (uint32_t i = 0; r->share && i < r->share->n_readers; i++)
		r->share->released[i] = position;
	ring_release_to(r, position);
}
