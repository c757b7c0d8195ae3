/*
 * A library for LD_PRELOAD that counts calls of the allocator, of all processes together.
 *
 * MALLOC_COUNT names a file of at least 16 bytes: the number of blocks that were allocated and of
 * those that were freed, as uint64_t.  realloc(3) does both.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EARLY_BYTES 65536u

static uint64_t before[2];
static uint64_t *count = before;
/* What dlsym(3) allocates while it looks for malloc. */
static char early[EARLY_BYTES] __attribute__((aligned(16)));
static size_t n_early;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static void *(*next_aligned)(size_t, size_t);
static int (*next_posix)(void **, size_t, size_t);
static void (*next_free)(void *);

static void add(int which)
{
	__atomic_fetch_add(&count[which], 1, __ATOMIC_RELAXED);
}

static void *take_early(size_t n)
{
	size_t at = n_early;
	n_early += (n + 15) & ~(size_t)15;
	return n_early <= EARLY_BYTES ? early + at : NULL;
}

static void find(void)
{
	static int is_looking;
	if (next_free || is_looking)
		return;
	is_looking = 1;
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next_aligned = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&next_posix = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	is_looking = 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("MALLOC_COUNT");
	find();
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(before), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return;
	count = p;
	for (int i = 0; i < 2; i++)
		__atomic_fetch_add(&count[i], before[i], __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
	find();
	add(0);
	return next_malloc ? next_malloc(n) : take_early(n);
}

void *calloc(size_t n, size_t each)
{
	find();
	add(0);
	return next_calloc ? next_calloc(n, each) : take_early(n * each);
}

void *realloc(void *p, size_t n)
{
	find();
	add(0);
	if (p)
		add(1);
	if ((char *)p < early || (char *)p >= early + EARLY_BYTES)
		return next_realloc(p, n);
	void *copy = next_malloc(n);
	return copy ? memcpy(copy, p, n) : NULL;
}

void *memalign(size_t alignment, size_t n)
{
	find();
	add(0);
	return next_memalign(alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	find();
	add(0);
	return next_aligned(alignment, n);
}

int posix_memalign(void **ret, size_t alignment, size_t n)
{
	find();
	add(0);
	return next_posix(ret, alignment, n);
}

void free(void *p)
{
	find();
	if (!p || ((char *)p >= early && (char *)p < early + EARLY_BYTES))
		return;
	add(1);
	next_free(p);
}
