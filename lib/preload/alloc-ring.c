/*
 * Several threads and processes write.  A writer takes the lock with its thread id; after some
 * tries it gives up, and its record is counted as lost.  So a thread that was interrupted, stopped
 * or killed while it had the lock costs records, but no other thread waits for it.  The profiler
 * frees the lock of a thread that does not go on (source/allocring.h); such a thread then does not
 * publish what it has written.
 *
 * The head is in a memfd, which the profiler maps, too.  The ring after it is mapped twice, one
 * copy after the other, so that no record is divided; a process that is never recorded does not
 * map it.
 *
 * The process copies the stack by process_vm_readv(2) from itself: the copy ends at the first page
 * that is not mapped, where memcpy(3) would raise a signal.  The end of a stack is not known
 * otherwise: coroutines and signal handlers have stacks of their own, and pthread_getattr_np(3)
 * takes a lock and allocates.
 */

#include "preload/alloc-ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* A descriptor with a low number might be in the way of programs that expect certain ones. */
#define FD_MIN 700
#define SPINS 64u
#define YIELDS 200u
#define PAGE 4096u             /* at most a page: pieces of a stack that may not be mapped */
#define PIECES_MAX (ALLOCFORMAT_STACK_BYTES_MAX / PAGE + 2)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Alignas(ALLOC_RING_PAGE) union alloc_ring_page alloc_ring_page;
#define own (&alloc_ring_page.head)
static bool is_open;
static _Atomic(unsigned char *) data;  /* NULL: not mapped yet */
static uint32_t data_bytes;
static int ring_fd = -1;
/* The process's id, in a page that is zero in a forked child (MADV_WIPEONFORK, Linux 4.14). */
static _Atomic uint32_t *own_pid;

__attribute__((used, visibility("hidden"))) struct allocformat_registry alloc_ring_registry = {
	.fd = -1,
};

__asm__(".pushsection .note.cprof.alloc,\"a\",%note\n"
	"	.balign 4\n"
	"	.long 6, 4, 2\n"
	"	.asciz \"cprof\"\n"
	"	.balign 4\n"
	"	.long alloc_ring_registry - .\n"
	"	.popsection\n");
_Static_assert(ALLOCFORMAT_NOTE == 2, "as in the note");

/* ---- opening ------------------------------------------------------------------------------- */

static void *map(void *at, size_t n_bytes, int flags, int fd, off_t offset)
{
	int prot = PROT_READ | PROT_WRITE;
	return (void *)syscall(SYS_mmap, at, n_bytes, prot, flags, fd, offset);
}

static int make_memfd(void)
{
	int fd = (int)syscall(SYS_memfd_create, ALLOCFORMAT_NAME,
			      MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	const off_t n_bytes = (off_t)ALLOCFORMAT_HEAD_BYTES + ALLOCFORMAT_DATA_BYTES;
	if (syscall(SYS_ftruncate, fd, n_bytes) < 0 ||
	    syscall(SYS_fcntl, fd, F_ADD_SEALS, SEALS) < 0) {
		syscall(SYS_close, fd);
		return -1;
	}
	return fd;
}

/* The ring of the profiler that has started this program or one of its ancestors. */
static int open_profilers(void)
{
	const char *path = getenv(ALLOCFORMAT_RING_VARIABLE);
	if (!path || strncmp(path, "/proc/", 6) != 0)
		return -1;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (syscall(SYS_fcntl, fd, F_GET_SEALS) & SEALS) != SEALS) {
		syscall(SYS_close, fd);
		return -1;
	}
	return fd;
}

static bool is_head(const struct allocformat_head *h)
{
	uint32_t n = h->data_bytes;
	return h->magic == ALLOCFORMAT_MAGIC && n && n <= ALLOCFORMAT_DATA_BYTES_MAX &&
	       !(n & (n - 1)) && n % ALLOCFORMAT_HEAD_BYTES == 0;
}

/* First elsewhere: a program that runs must not see what is no head. */
static bool map_head(int fd, bool is_new)
{
	struct allocformat_head *h = map(NULL, ALLOC_RING_PAGE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return false;
	if (is_new) {
		h->data_bytes = ALLOCFORMAT_DATA_BYTES;
		h->magic = ALLOCFORMAT_MAGIC;
	}
	bool ok = is_head(h);
	syscall(SYS_munmap, h, ALLOC_RING_PAGE);
	return ok && map(&alloc_ring_page, ALLOC_RING_PAGE, MAP_SHARED | MAP_FIXED, fd, 0) !=
			     MAP_FAILED;
}

/* A process forked by raw clone(2) passes no handler of pthread_atfork(3). */
static void map_pid(void)
{
	long n_bytes = sysconf(_SC_PAGESIZE);
	void *page = map(NULL, (size_t)n_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED && syscall(SYS_madvise, page, n_bytes, MADV_WIPEONFORK) == 0)
		own_pid = page;
}

/* The memfd is mapped by descriptor, which the program may have closed, and used again. */
static bool is_own_fd(void)
{
	const struct allocformat_registry *r = &alloc_ring_registry;
	struct stat st;
	return fstat(ring_fd, &st) == 0 && st.st_ino == r->inode && st.st_dev == r->device;
}

static unsigned char *map_data(void)
{
	unsigned char *known = atomic_load_explicit(&data, memory_order_acquire);
	if (known || !is_own_fd())
		return known;
	unsigned char *p = (void *)syscall(SYS_mmap, NULL, 2 * (size_t)data_bytes, PROT_NONE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (map(p + (size_t)i * data_bytes, data_bytes, MAP_SHARED | MAP_FIXED, ring_fd,
			ALLOCFORMAT_HEAD_BYTES) == MAP_FAILED)
			goto fail;
	if (atomic_compare_exchange_strong(&data, &known, p))
		return p;
fail:
	syscall(SYS_munmap, p, 2 * (size_t)data_bytes);
	return known;
}

static void announce(int fd)
{
	struct allocformat_registry *r = &alloc_ring_registry;
	struct stat st;
	if (fstat(fd, &st) < 0)
		return;
	r->device = st.st_dev;
	r->inode = st.st_ino;
	__atomic_store_n(&r->magic, ALLOCFORMAT_MAGIC, __ATOMIC_RELEASE);
}

/* The profiler knows its own ring: once it is mapped, the program has no descriptor of it. */
static bool use_profilers(void)
{
	int fd = open_profilers();
	bool ok = fd >= 0 && map_head(fd, false);
	if (ok) {
		data_bytes = own->data_bytes;
		ring_fd = fd;
		announce(fd);
		map_data();
		__atomic_fetch_add(&own->n_users, 1, __ATOMIC_RELAXED);
		ring_fd = -1;
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return ok;
}

static bool make_own(void)
{
	int fd = make_memfd();
	if (fd < 0)
		return false;
	if (!map_head(fd, true)) {
		syscall(SYS_close, fd);
		return false;
	}
	data_bytes = own->data_bytes;
	ring_fd = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_MIN);
	if (ring_fd < 0)
		ring_fd = fd;
	else
		syscall(SYS_close, fd);
	alloc_ring_registry.fd = ring_fd;
	announce(ring_fd);
	return true;
}

void alloc_ring_open(void)
{
	map_pid();
	is_open = use_profilers() || make_own();
}

void alloc_ring_set_shadowed(void)
{
	alloc_ring_registry.is_shadowed = 1;
}

/* ---- the ring ------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool alloc_ring_is_read(void)
{
	uint32_t active = is_open ? __atomic_load_n(&own->active, __ATOMIC_ACQUIRE) : 0;
	if (!active)
		return false;
	uint64_t seen_ns = __atomic_load_n(&own->seen_ns, __ATOMIC_RELAXED), now = now_ns();
	if (now < seen_ns || now - seen_ns < ALLOCFORMAT_SILENCE_NS)
		return true;
	__atomic_store_n(&own->active_frees, 0, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&own->active, &active, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return false;
}

static uint32_t process_id(void)
{
	uint32_t pid = own_pid ? atomic_load_explicit(own_pid, memory_order_relaxed) : 0;
	if (pid)
		return pid;
	pid = (uint32_t)syscall(SYS_getpid);
	if (own_pid)
		atomic_store_explicit(own_pid, pid, memory_order_relaxed);
	return pid;
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

/* Where a record of up to n_bytes goes; NULL: there is no room.  The caller has the lock. */
static void *reserve(unsigned char *ring, uint64_t n_bytes)
{
	uint64_t head = __atomic_load_n(&own->head, __ATOMIC_RELAXED);
	uint64_t tail = __atomic_load_n(&own->tail, __ATOMIC_ACQUIRE);
	if (head % 8 || head - tail > data_bytes || data_bytes - (head - tail) < n_bytes)
		return NULL;
	return ring + (head & (data_bytes - 1));
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

/* How many bytes from address upwards could be copied, a multiple of 8. */
static uint64_t copy_stack(void *to, uint64_t address, uint64_t n_max, uint32_t pid)
{
	const struct iovec local = { to, n_max };
	struct iovec remote[PIECES_MAX];
	unsigned n = 0;
	for (uint64_t at = 0; at < n_max && n < PIECES_MAX; n++) {
		uint64_t n_bytes = PAGE - (address + at) % PAGE;
		n_bytes = n_bytes < n_max - at ? n_bytes : n_max - at;
		remote[n] = (struct iovec){ (void *)(address + at), n_bytes };
		at += n_bytes;
	}
	long copied = syscall(SYS_process_vm_readv, pid, &local, 1, remote, n, 0);
	return copied > 0 ? (uint64_t)copied & ~UINT64_C(7) : 0;
}

/* Of the dynamic loader of glibc: where the main thread's stack began. */
extern void *__libc_stack_end __attribute__((weak));

static uint64_t thread_pointer(void)
{
	uint64_t at;
#if defined(__x86_64__)
	__asm__("movq %%fs:0, %0" : "=r"(at));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#endif
	return at;
}

static uint64_t up_to(uint64_t sp, uint64_t top, uint64_t n_bytes)
{
	return top > sp && top - sp < n_bytes ? (top - sp) & ~UINT64_C(7) : n_bytes;
}

/*
 * Most stacks end earlier than the longest copy.  C libraries place the memory of a thread just
 * above its stack.  On another stack, as that of a coroutine, these places say nothing: then the
 * copy is longer than needed.
 */
static uint64_t useful_bytes(uint64_t sp, uint64_t n_bytes)
{
	n_bytes = up_to(sp, thread_pointer(), n_bytes);
	if (&__libc_stack_end && __libc_stack_end)
		n_bytes = up_to(sp, (uint64_t)__libc_stack_end + 64, n_bytes);
	return n_bytes;
}

static uint64_t stack_bytes_wanted(void)
{
	uint64_t n = __atomic_load_n(&own->stack_bytes, __ATOMIC_RELAXED) & ~UINT64_C(7);
	return n < ALLOCFORMAT_STACK_BYTES_MAX ? n : ALLOCFORMAT_STACK_BYTES_MAX;
}

static uint64_t fill_alloc(struct allocformat_alloc *a, uint64_t stack_max, uint32_t pid)
{
	unsigned sp = __builtin_popcountll(ALLOCFORMAT_REGS &
#if defined(__x86_64__)
					   ((1u << 7) - 1));
#else
					   ((UINT64_C(1) << 31) - 1));
#endif
	uint64_t *after = (uint64_t *)(a + 1);
	a->stack_bytes = copy_stack(after, a->reg[sp], useful_bytes(a->reg[sp], stack_max), pid);
	after += a->stack_bytes / 8;
	if (a->stack_bytes)
		*after++ = a->stack_bytes;
	*after++ = own->mean;
	uint64_t n_bytes = (uint64_t)((unsigned char *)after - (unsigned char *)a);
	a->size = (uint16_t)n_bytes;
	return n_bytes;
}

bool alloc_ring_put_alloc(const void *block, uint64_t n_bytes, bool is_tracked,
			  const struct alloc_ring_regs *regs)
{
	unsigned char *ring = map_data();
	uint32_t tid = (uint32_t)syscall(SYS_gettid), pid = process_id();
	uint64_t stack_max = stack_bytes_wanted();
	if (!ring || !take_lock(tid)) {
		count_lost(&own->n_lost_allocs);
		return false;
	}
	struct allocformat_alloc *a = reserve(ring, sizeof(*a) + stack_max + 16);
	if (a) {
		a->type = PERF_RECORD_SAMPLE;
		a->misc = PERF_RECORD_MISC_USER;
		a->id = is_tracked ? ALLOCFORMAT_ALLOC : ALLOCFORMAT_UNTRACKED;
		a->ip = (uint64_t)__builtin_return_address(0);
		a->pid = pid;
		a->tid = tid;
		a->time_ns = now_ns();
		a->addr = (uint64_t)block;
		a->n_bytes = n_bytes;
		a->abi = PERF_SAMPLE_REGS_ABI_64;
		memcpy(a->reg, regs->r, sizeof(a->reg));
		publish(tid, fill_alloc(a, stack_max, pid));
	} else {
		count_lost(&own->n_lost_allocs);
	}
	release_lock(tid);
	if (a && !is_tracked)
		count_lost(&own->n_untracked);
	return a;
}

void alloc_ring_put_free(const void *block, enum allocformat_id id)
{
	unsigned char *ring = map_data();
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	if (!ring || !take_lock(tid)) {
		count_lost(&own->n_lost_frees);
		return;
	}
	struct allocformat_free *f = reserve(ring, sizeof(*f));
	if (f) {
		*f = (struct allocformat_free){
			.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER,
			.size = sizeof(*f), .id = id, .pid = process_id(), .tid = tid,
			.time_ns = now_ns(), .addr = (uint64_t)block,
		};
		publish(tid, sizeof(*f));
	} else {
		count_lost(&own->n_lost_frees);
	}
	release_lock(tid);
}
