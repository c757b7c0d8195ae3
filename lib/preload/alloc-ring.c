/*
 * Several threads and processes write.  A writer takes the lock with its thread id; after some
 * tries it gives up, and its record is counted as lost.  So a thread that was interrupted, stopped
 * or killed while it had the lock costs records, but no other thread waits for it.  The profiler
 * frees the lock of a thread that does not go on (source/allocring.h); such a thread then does not
 * publish what it has written.
 *
 * The head's part that the profiler writes for each record is read only when the ring seems full:
 * reading it costs a transfer between two CPUs.
 */

#include "preload/alloc-ring.h"

#include "preload/alloc-ringmap.h"
#include "preload/alloc-stack.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 64u
#define YIELDS 200u
#define own (&alloc_ring_page.head)

uint64_t alloc_ring_read_time(void)
{
	uint32_t active = __atomic_load_n(&own->active, __ATOMIC_ACQUIRE);
	if (!active || !alloc_ringmap_is_open)
		return 0;
	uint64_t seen_ns = __atomic_load_n(&own->seen_ns, __ATOMIC_RELAXED);
	uint64_t now = alloc_thread_clock_ns();
	if (now < seen_ns || now - seen_ns < ALLOCFORMAT_SILENCE_NS)
		return now;
	__atomic_store_n(&own->active_frees, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&own->active, &active, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return 0;
}

static bool take_lock(uint32_t tid)
{
	for (unsigned i = 0; i < SPINS * YIELDS; i++) {
		uint32_t none = 0;
		if (!__atomic_load_n(&own->lock, __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&own->lock, &none, tid, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (i % SPINS == SPINS - 1)
			syscall(SYS_sched_yield);
	}
	return false;
}

static void release_lock(uint32_t tid)
{
	__atomic_compare_exchange_n(&own->lock, &tid, 0, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

/* The profiler has allocated the next pages.  Reading one maps it and its neighbours at once,
 * writing would map each for itself. */
static void touch(const volatile unsigned char *at)
{
	(void)*at;
}

/* Where a record of up to n_bytes goes; NULL: there is no room.  The caller has the lock. */
static void *reserve(unsigned char *ring, uint64_t n_bytes)
{
	const uint32_t data_bytes = alloc_ringmap_data_bytes;
	uint64_t head = __atomic_load_n(&own->head, __ATOMIC_RELAXED);
	uint64_t tail = own->known_tail;
	if (head - tail > data_bytes || data_bytes - (head - tail) < n_bytes)
		own->known_tail = tail = __atomic_load_n(&own->tail, __ATOMIC_ACQUIRE);
	if (head % 8 || head - tail > data_bytes || data_bytes - (head - tail) < n_bytes)
		return NULL;
	unsigned char *at = ring + (head & (data_bytes - 1));
	touch(at);
	touch(at + n_bytes - 1);
	return at;
}

static void publish(uint32_t tid, uint64_t n_bytes)
{
	if (__atomic_load_n(&own->lock, __ATOMIC_RELAXED) == tid)
		__atomic_fetch_add(&own->head, n_bytes, __ATOMIC_RELEASE);
}

static void count_lost(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static uint64_t stack_bytes_wanted(void)
{
	uint64_t n = __atomic_load_n(&own->stack_bytes, __ATOMIC_RELAXED) & ~UINT64_C(7);
	return n < ALLOCFORMAT_STACK_BYTES_MAX ? n : ALLOCFORMAT_STACK_BYTES_MAX;
}

/* The order of ALLOCFORMAT_REGS. */
static uint64_t stack_pointer(const struct allocformat_alloc *a)
{
#if defined(__x86_64__)
	const uint64_t lower = (1u << 7) - 1;
#else
	const uint64_t lower = (UINT64_C(1) << 31) - 1;
#endif
	return a->reg[__builtin_popcountll(ALLOCFORMAT_REGS & lower)];
}

static uint64_t fill_stack(struct allocformat_alloc *a, uint64_t stack_max,
			   const struct allocformat_tail *tail)
{
	uint64_t *after = (uint64_t *)(a + 1);
	a->stack_bytes = alloc_stack_copy(&alloc_thread, after, stack_pointer(a), stack_max);
	after += a->stack_bytes / 8;
	if (a->stack_bytes)
		*after++ = a->stack_bytes;
	*after++ = tail->mean;
	*after++ = tail->passed_bytes;
	*after++ = tail->last_bytes;
	uint64_t n_bytes = (uint64_t)((unsigned char *)after - (unsigned char *)a);
	a->size = (uint16_t)n_bytes;
	return n_bytes;
}

static void fill_alloc(struct allocformat_alloc *a, const struct alloc_ring_block *b,
		       const struct alloc_thread *t)
{
	a->type = PERF_RECORD_SAMPLE;
	a->misc = PERF_RECORD_MISC_USER;
	a->id = b->is_tracked ? ALLOCFORMAT_ALLOC : ALLOCFORMAT_UNTRACKED;
	a->ip = (uint64_t)__builtin_return_address(0);
	a->pid = t->pid;
	a->tid = t->tid;
	a->time_ns = b->time_ns;
	a->addr = (uint64_t)b->block;
	a->n_bytes = b->n_bytes;
	a->abi = PERF_SAMPLE_REGS_ABI_64;
	for (unsigned i = 0; i < ALLOCFORMAT_N_REGS; i++)
		a->reg[i] = b->regs->r[i];
}

bool alloc_ring_put_alloc(const struct alloc_ring_block *b)
{
	const struct alloc_thread *t = alloc_thread_now();
	unsigned char *ring = alloc_ringmap_data();
	uint64_t stack_max = stack_bytes_wanted();
	if (!ring || !take_lock(t->tid)) {
		count_lost(&own->n_lost_allocs);
		return false;
	}
	struct allocformat_alloc *a = reserve(ring, sizeof(*a) + stack_max + 8 + sizeof(b->tail));
	if (a) {
		fill_alloc(a, b, t);
		publish(t->tid, fill_stack(a, stack_max, &b->tail));
	} else {
		count_lost(&own->n_lost_allocs);
	}
	release_lock(t->tid);
	if (a && !b->is_tracked)
		count_lost(&own->n_untracked);
	return a;
}

void alloc_ring_put_free(const void *block, enum allocformat_id id, uint64_t time_ns)
{
	const struct alloc_thread *t = alloc_thread_now();
	unsigned char *ring = alloc_ringmap_data();
	if (!ring || !take_lock(t->tid)) {
		count_lost(&own->n_lost_frees);
		return;
	}
	struct allocformat_free *f = reserve(ring, sizeof(*f));
	if (f) {
		*f = (struct allocformat_free){
			.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER,
			.size = sizeof(*f), .id = id, .pid = t->pid, .tid = t->tid,
			.time_ns = time_ns, .addr = (uint64_t)block,
		};
		publish(t->tid, sizeof(*f));
	} else {
		count_lost(&own->n_lost_frees);
	}
	release_lock(t->tid);
}
