/*
 * The head is in a memfd, which the profiler maps, too.  The ring after it is mapped twice, one
 * copy after the other, so that no record is divided; a process that is never recorded does not
 * map it.
 */

#include "preload/alloc-ringmap.h"

#include "preload/alloc-thread.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A descriptor with a low number might be in the way of programs that expect certain ones. */
#define FD_MIN 700
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Alignas(ALLOC_RING_PAGE) union alloc_ring_page alloc_ring_page;
#define own (&alloc_ring_page.head)
bool alloc_ringmap_is_open;
static _Atomic(unsigned char *) data;  /* NULL: not mapped yet */
uint32_t alloc_ringmap_data_bytes;
static int ring_fd = -1;

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

/*
 * System calls are made directly: this may run while a sanitizer looks up the functions that it
 * intercepts, and before it has found fstat(2).
 */
static bool read_stat(int fd, struct stat *ret)
{
	return syscall(SYS_fstat, fd, ret) == 0;
}

static bool is_in_proc(const char *path)
{
	const char *want = "/proc/";
	while (*want && *path == *want)
		path++, want++;
	return !*want;
}

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
	if (!path || !is_in_proc(path))
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

/* The memfd is mapped by descriptor, which the program may have closed, and used again. */
static bool is_own_fd(void)
{
	const struct allocformat_registry *r = &alloc_ring_registry;
	struct stat st;
	return read_stat(ring_fd, &st) && st.st_ino == r->inode && st.st_dev == r->device;
}

unsigned char *alloc_ringmap_data(void)
{
	unsigned char *known = atomic_load_explicit(&data, memory_order_acquire);
	if (known || !is_own_fd())
		return known;
	const size_t n_bytes = alloc_ringmap_data_bytes;
	unsigned char *p = (void *)syscall(SYS_mmap, NULL, 2 * n_bytes, PROT_NONE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < 2; i++)
		if (map(p + (size_t)i * n_bytes, n_bytes, MAP_SHARED | MAP_FIXED, ring_fd,
			ALLOCFORMAT_HEAD_BYTES) == MAP_FAILED)
			goto fail;
	if (atomic_compare_exchange_strong(&data, &known, p))
		return p;
fail:
	syscall(SYS_munmap, p, 2 * n_bytes);
	return known;
}

static void announce(int fd)
{
	struct allocformat_registry *r = &alloc_ring_registry;
	struct stat st;
	if (!read_stat(fd, &st))
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
		alloc_ringmap_data_bytes = own->data_bytes;
		ring_fd = fd;
		announce(fd);
		alloc_ringmap_data();
		if (alloc_ring_registry.unseen & ALLOCFORMAT_MALLOC)
			__atomic_fetch_add(&own->n_shadowed, 1, __ATOMIC_RELAXED);
		if (alloc_ring_registry.unseen & ALLOCFORMAT_NEW)
			__atomic_fetch_add(&own->n_other_new, 1, __ATOMIC_RELAXED);
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
	alloc_ringmap_data_bytes = own->data_bytes;
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
	alloc_thread_open();
	alloc_ringmap_is_open = use_profilers() || make_own();
}

void alloc_ring_set_shadowed(void)
{
	alloc_ring_registry.unseen |= ALLOCFORMAT_MALLOC;
}

void alloc_ring_set_other_new(void)
{
	alloc_ring_registry.unseen |= ALLOCFORMAT_NEW;
}
