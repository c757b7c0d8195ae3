/*
 * dlsym(3) may allocate before its result is known: until then blocks come from a buffer that is
 * never given back.  Only if it was used does free() have to know its addresses.
 */

#include "preload/alloc-next.h"

#include "preload/alloc-hooks.h"
#include "preload/alloc-jumps.h"
#include "preload/alloc-program.h"
#include "preload/alloc-sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define BOOT_BYTES 65536u
#define PAGE_MIN 4096u         /* at most a page of this machine */

static void *boot_malloc(size_t n);
static void *boot_calloc(size_t n, size_t each);
static void boot_free(void *block);
static void *boot_realloc(void *block, size_t n);
static int boot_posix_memalign(void **ret, size_t align, size_t n);
static void *boot_aligned_alloc(size_t align, size_t n);
static void *boot_memalign(size_t align, size_t n);
static void *boot_valloc(size_t n);
static void *boot_pvalloc(size_t n);

struct alloc_next alloc_next = {
	boot_malloc, boot_calloc, boot_free, boot_realloc, boot_posix_memalign,
	boot_aligned_alloc, boot_memalign, boot_valloc, boot_pvalloc,
};

static _Alignas(16) unsigned char boot[BOOT_BYTES];
static size_t boot_used;
static bool is_looking, is_ready, is_open;

static void *boot_take(size_t n)
{
	size_t at = __atomic_fetch_add(&boot_used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
	if (n > BOOT_BYTES || at > BOOT_BYTES - n - 16) {
		errno = ENOMEM;
		return NULL;
	}
	/* Its size precedes the block, for realloc. */
	memcpy(boot + at, &n, sizeof(n));
	return boot + at + 16;
}

static bool is_boot(const void *block)
{
	uintptr_t at = (uintptr_t)block;
	return at >= (uintptr_t)boot && at < (uintptr_t)boot + BOOT_BYTES;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* The free and realloc of a program that has a block from the buffer. */
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);

static void free_if_real(void *block)
{
	if (!is_boot(block))
		next_free(block);
}

static void *realloc_if_real(void *block, size_t n)
{
	size_t old;
	if (!is_boot(block))
		return next_realloc(block, n);
	void *fresh = alloc_next.malloc(n);
	memcpy(&old, (unsigned char *)block - 16, sizeof(old));
	if (fresh)
		memcpy(fresh, block, old < n ? old : n);
	return fresh;
}

static void *(*next_malloc)(size_t);
static bool was_called;

static void *note_call(size_t n)
{
	was_called = true;
	return next_malloc(n);
}

/* A program that is not position-independent may have a jump to a function as the function's
 * address, for itself and for all libraries. */
static bool is_jump_to_own(void *(*program_malloc)(size_t))
{
	Dl_info in;
	if (!dladdr((void *)program_malloc, &in) ||
	    (uintptr_t)in.dli_fbase != getauxval(AT_PHDR) / PAGE_MIN * PAGE_MIN)
		return false;
	alloc_next.malloc = note_call;
	void *block = program_malloc(1);
	if (was_called)
		next_free(block);
	return was_called;
}

static bool is_shadowed(void)
{
	void *(*program_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	return program_malloc != (void *(*)(size_t))alloc_hooks_malloc &&
	       !is_jump_to_own(program_malloc);
}

/* Has the next library with malloc(3) an operator new, too, and the program uses it?  The C++
 * library's own would call malloc(3). */
static bool has_other_new(void)
{
	Dl_info of_new, of_malloc;
	void *new = next("_Znwm");
	return new && dladdr(new, &of_new) && dladdr((void *)next_malloc, &of_malloc) &&
	       of_new.dli_fbase == of_malloc.dli_fbase &&
	       (alloc_program_refers_to("_Znwm") || alloc_program_refers_to("_Znam"));
}

/* A look-up that fails allocates its message, so the functions that this needs come first: a block
 * from the buffer would cost each free() a test for ever. */
static void look_up(void)
{
	next_malloc = (void *(*)(size_t))next("malloc");
	next_free = (void (*)(void *))next("free");
	next_realloc = (void *(*)(void *, size_t))next("realloc");
	alloc_next.calloc = (void *(*)(size_t, size_t))next("calloc");
	alloc_next.malloc = next_malloc;
	alloc_next.free = boot_used ? free_if_real : next_free;
	alloc_next.realloc = boot_used ? realloc_if_real : next_realloc;
	alloc_next.posix_memalign = (int (*)(void **, size_t, size_t))next("posix_memalign");
	alloc_next.aligned_alloc = (void *(*)(size_t, size_t))next("aligned_alloc");
	alloc_next.memalign = (void *(*)(size_t, size_t))next("memalign");
	alloc_next.valloc = (void *(*)(size_t))next("valloc");
	alloc_next.pvalloc = (void *(*)(size_t))next("pvalloc");
	if (is_shadowed())
		alloc_ring_set_shadowed();
	if (has_other_new())
		alloc_ring_set_other_new();
	alloc_next.malloc = next_malloc;
	alloc_jumps_make_direct();
}

/* Once.  The environment has the profiler's ring. */
static void open_ring(void)
{
	if (__atomic_exchange_n(&is_open, true, __ATOMIC_ACQ_REL))
		return;
	alloc_sampler_configure();
	alloc_ring_open();
}

/* False: this is a call from within dlsym(3), or of another thread meanwhile. */
static __attribute__((noinline)) bool start(void)
{
	int errnum = errno;
	if (__atomic_exchange_n(&is_looking, true, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&is_ready, __ATOMIC_ACQUIRE);
	look_up();
	__atomic_store_n(&is_ready, true, __ATOMIC_RELEASE);
	/* A sanitizer allocates before the C library has its environment. */
	if (environ)
		open_ring();
	errno = errnum;
	return true;
}

__attribute__((constructor)) static void start_early(void)
{
	start();
	open_ring();
	__atomic_store_n(&alloc_thread_is_loaded, true, __ATOMIC_RELAXED);
}

static void *boot_malloc(size_t n)
{
	return start() ? alloc_next.malloc(n) : boot_take(n);
}

static void *boot_calloc(size_t n, size_t each)
{
	size_t n_bytes;
	if (start())
		return alloc_next.calloc(n, each);
	return __builtin_mul_overflow(n, each, &n_bytes) ? NULL : boot_take(n_bytes);
}

static void boot_free(void *block)
{
	if (start() && !is_boot(block))
		alloc_next.free(block);
}

static void *boot_realloc(void *block, size_t n)
{
	return start() ? alloc_next.realloc(block, n) : block ? NULL : boot_take(n);
}

static int boot_posix_memalign(void **ret, size_t align, size_t n)
{
	return start() ? alloc_next.posix_memalign(ret, align, n) : ENOMEM;
}

static void *boot_aligned_alloc(size_t align, size_t n)
{
	return start() ? alloc_next.aligned_alloc(align, n) : NULL;
}

static void *boot_memalign(size_t align, size_t n)
{
	return start() ? alloc_next.memalign(align, n) : NULL;
}

static void *boot_valloc(size_t n)
{
	return start() ? alloc_next.valloc(n) : NULL;
}

static void *boot_pvalloc(size_t n)
{
	return start() ? alloc_next.pvalloc(n) : NULL;
}
