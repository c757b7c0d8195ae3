/*
 * The seals of the memfd keep the program from shrinking it: no access to the mapping can fail.
 *
 * A writer that was killed while it had the lock leaves it behind; one that is stopped keeps it.
 * After LOCK_NS without progress the lock is taken from it.  What it had not published is
 * overwritten by the next record.
 */

#include "source/allocring.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define LOCK_NS UINT64_C(1000000000)
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  /* Linux 5.14 */
#endif
#define POPULATE_BYTES (UINT64_C(1) << 16)

static const struct record_format alloc_format = {
	.sample_type = ALLOCFORMAT_ALLOC_TYPE, .sample_regs_user = ALLOCFORMAT_REGS,
};
static const struct record_format free_format = { .sample_type = ALLOCFORMAT_FREE_TYPE };

/* ---- memory ---------------------------------------------------------------------------------- */

/* Allocates pages of the ring before a program writes to them for the first time, which would cost
 * its time: as many as were used so far, so that a process with few samples keeps little memory. */
static void populate(struct allocring *r, uint64_t head)
{
	uint64_t used = head - r->first, step = POPULATE_BYTES;
	uint64_t want = used < r->data_bytes ? (2 * used / step + 2) * step : r->data_bytes;
	want = want < r->data_bytes ? want : r->data_bytes;
	while (r->n_populated < want) {
		uint64_t at = (r->first + r->n_populated) & (r->data_bytes - 1);
		uint64_t n = want - r->n_populated, n_max = r->data_bytes - at;
		n = n < n_max ? n : n_max;
		/* Older kernels cannot do it. */
		if (madvise(r->data + at, n, MADV_POPULATE_READ) < 0)
			want = r->n_populated = r->data_bytes;
		else
			r->n_populated += n;
	}
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_size(uint32_t n)
{
	return n && n <= ALLOCFORMAT_DATA_BYTES_MAX && !(n & (n - 1)) &&
	       n % ALLOCFORMAT_HEAD_BYTES == 0;
}

static int map_ring(struct allocring *r)
{
	struct stat st;
	int seals = fcntl(r->fd, F_GET_SEALS);
	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(r->fd, &st) < 0)
		return -EINVAL;
	if (st.st_size < (off_t)ALLOCFORMAT_HEAD_BYTES)
		return -EINVAL;
	void *head = mmap(NULL, ALLOCFORMAT_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			  0);
	if (head == MAP_FAILED)
		return -errno;
	r->head = head;
	r->data_bytes = __atomic_load_n(&r->head->data_bytes, __ATOMIC_RELAXED);
	if (r->head->magic != ALLOCFORMAT_MAGIC || !is_size(r->data_bytes) ||
	    st.st_size < (off_t)ALLOCFORMAT_HEAD_BYTES + r->data_bytes)
		return -EINVAL;
	uint8_t *p = mmap(NULL, 2 * (size_t)r->data_bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->data = p;
	for (int i = 0; i < 2; i++)
		if (mmap(p + (size_t)i * r->data_bytes, r->data_bytes, PROT_READ,
			 MAP_SHARED | MAP_FIXED, r->fd, ALLOCFORMAT_HEAD_BYTES) == MAP_FAILED)
			return -errno;
	r->device = st.st_dev;
	r->inode = st.st_ino;
	r->copy = malloc(RECORD_BYTES_MAX + 1);
	return r->copy ? 0 : -ENOMEM;
}

int allocring_open(struct allocring *r, int fd)
{
	*r = (struct allocring){ .fd = fd };
	int result = map_ring(r);
	if (result < 0)
		allocring_close(r);
	return result;
}

int allocring_make(struct allocring *r, uint32_t data_bytes, struct err *e)
{
	CLEANUP_CLOSE int fd = memfd_create(ALLOCFORMAT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const uint64_t magic = ALLOCFORMAT_MAGIC;
	if (fd < 0 || !is_size(data_bytes) ||
	    ftruncate(fd, (off_t)ALLOCFORMAT_HEAD_BYTES + data_bytes) < 0 ||
	    pwrite(fd, &data_bytes, sizeof(data_bytes),
		   offsetof(struct allocformat_head, data_bytes)) < 0 ||
	    pwrite(fd, &magic, sizeof(magic), 0) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_errno(e, errno, "cannot make the memory for samples of allocations");
	int result = allocring_open(r, TAKE_FD(fd));
	return result < 0 ? err_errno(e, -result, "cannot map the memory for samples of "
				      "allocations") : 0;
}

void allocring_close(struct allocring *r)
{
	if (r->head && r->number)
		allocring_stop(r);
	if (r->head)
		munmap(r->head, ALLOCFORMAT_HEAD_BYTES);
	if (r->data)
		munmap(r->data, 2 * (size_t)r->data_bytes);
	if (r->fd >= 0)
		close(r->fd);
	free(r->copy);
	*r = (struct allocring){ .fd = -1 };
}

/* ---- recording ------------------------------------------------------------------------------ */

/* Two profilers could not share the tail: the one that reads has a lock on the memfd, which ends
 * with it. */
int allocring_start(struct allocring *r, uint64_t mean, uint32_t stack_bytes, bool has_frees)
{
	struct allocformat_head *h = r->head;
	uint32_t active = __atomic_load_n(&h->active, __ATOMIC_ACQUIRE);
	uint64_t now_ns = clock_monotonic_ns();
	if (flock(r->fd, LOCK_EX | LOCK_NB) < 0)
		return -EBUSY;
	r->tail = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);
	r->before = (struct allocring_losses){ h->n_lost_allocs, h->n_lost_frees, h->n_untracked };
	__atomic_store_n(&h->tail, r->tail, __ATOMIC_RELEASE);
	r->first = r->tail / ALLOCFORMAT_HEAD_BYTES * ALLOCFORMAT_HEAD_BYTES;
	r->n_populated = 0;
	populate(r, r->tail);
	h->mean = mean;
	h->stack_bytes = stack_bytes;
	__atomic_store_n(&h->seen_ns, now_ns, __ATOMIC_RELAXED);
	/* Another number than before, neither 0 nor that of the probes. */
	uint32_t number = (uint32_t)(now_ns >> 10) & 0x7ffffffe;
	r->number = number == active || !number ? number + 1 : number;
	r->has_frees = has_frees;
	__atomic_store_n(&h->active_frees, has_frees ? r->number : 0, __ATOMIC_RELEASE);
	__atomic_store_n(&h->active, r->number, __ATOMIC_RELEASE);
	return 0;
}

void allocring_stop(struct allocring *r)
{
	uint32_t number = r->number;
	r->number = 0;
	__atomic_store_n(&r->head->active_frees, 0, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&r->head->active, &number, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	flock(r->fd, LOCK_UN);
}

void allocring_tend(struct allocring *r, uint64_t now_ns)
{
	uint32_t tid = __atomic_load_n(&r->head->lock, __ATOMIC_RELAXED);
	uint64_t head = __atomic_load_n(&r->head->head, __ATOMIC_RELAXED);
	uint32_t dormant = 0;
	__atomic_store_n(&r->head->seen_ns, now_ns, __ATOMIC_RELAXED);
	if (r->number)
		populate(r, head);
	/* We were silent for too long. */
	if (r->number &&
	    __atomic_compare_exchange_n(&r->head->active, &dormant, r->number, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED) && r->has_frees)
		__atomic_store_n(&r->head->active_frees, r->number, __ATOMIC_RELEASE);
	if (!tid || tid != r->lock_tid || head != r->since_head) {
		r->lock_tid = tid;
		r->since_head = head;
		r->since_ns = now_ns;
	} else if (now_ns - r->since_ns > LOCK_NS) {
		__atomic_compare_exchange_n(&r->head->lock, &tid, 0, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
}

struct allocring_losses allocring_losses(const struct allocring *r)
{
	const struct allocformat_head *h = r->head;
	return (struct allocring_losses){
		.n_allocs = h->n_lost_allocs - r->before.n_allocs,
		.n_frees = h->n_lost_frees - r->before.n_frees,
		.n_untracked = h->n_untracked - r->before.n_untracked,
	};
}

/* ---- records -------------------------------------------------------------------------------- */

uint64_t allocring_waiting(const struct allocring *r)
{
	uint64_t head = __atomic_load_n(&r->head->head, __ATOMIC_ACQUIRE);
	uint64_t n = head - r->tail;
	return n <= r->data_bytes && n % 8 == 0 ? n : UINT64_MAX;
}

bool allocring_decode(const void *raw, size_t n_bytes, struct record *ret)
{
	const struct perf_event_header *h = raw;
	uint64_t id;
	if (n_bytes < sizeof(*h) + sizeof(id) || h->type != PERF_RECORD_SAMPLE)
		return false;
	memcpy(&id, (const char *)raw + sizeof(*h), sizeof(id));
	bool is_alloc = id == ALLOCFORMAT_ALLOC || id == ALLOCFORMAT_UNTRACKED;
	if (!is_alloc && id != ALLOCFORMAT_FREE && id != ALLOCFORMAT_RESTORE)
		return false;
	if (record_decode(is_alloc ? &alloc_format : &free_format, raw, n_bytes, ret) != RECORD_OK)
		return false;
	ret->misc = PERF_RECORD_MISC_USER;
	return !is_alloc || (ret->sample.weight && ret->sample.user_abi == PERF_SAMPLE_REGS_ABI_64);
}

bool allocring_next(struct allocring *r, uint64_t until_ns, struct record *ret)
{
	if (r->is_bad || !r->data)
		return false;
	uint64_t n_waiting = allocring_waiting(r);
	if (!n_waiting)
		return false;
	const uint8_t *at = r->data + (r->tail & (r->data_bytes - 1));
	struct perf_event_header h;
	memcpy(&h, at, sizeof(h));
	if (n_waiting == UINT64_MAX || h.size < sizeof(h) || h.size % 8 || h.size > n_waiting) {
		r->is_bad = true;
		return false;
	}
	memcpy(r->copy, at, h.size);
	memcpy(r->copy, &h, sizeof(h));  /* it may have changed meanwhile */
	if (!allocring_decode(r->copy, h.size, ret)) {
		r->is_bad = true;
		return false;
	}
	if (ret->time_ns > until_ns)
		return false;
	r->tail += h.size;
	__atomic_store_n(&r->head->tail, r->tail, __ATOMIC_RELEASE);
	return true;
}
