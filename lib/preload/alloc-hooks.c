/*
 * malloc(3) and its relatives: each calls the next library's function of that name, so blocks are
 * exactly what the program's allocator returns.
 *
 * dlsym(3) may allocate before its result is known: until then blocks come from a buffer that is
 * never given back.  Only if it was used does free() have to know its addresses.
 */

#include "cprof-alloc.h"
#include "preload/alloc-program.h"
#include "preload/alloc-sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
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

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real = {
	boot_malloc, boot_calloc, boot_free, boot_realloc, boot_posix_memalign,
	boot_aligned_alloc, boot_memalign, boot_valloc, boot_pvalloc,
};

static _Alignas(16) unsigned char boot[BOOT_BYTES];
static size_t boot_used;
static bool is_looking, is_ready, is_open;

/* ---- the next library ----------------------------------------------------------------------- */

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

/* Our own malloc: the name alone means that of the first library that has one. */
extern const char own_malloc[] __attribute__((visibility("hidden")));
__asm__(".globl own_malloc\n.hidden own_malloc\n.set own_malloc, malloc");

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
	void *fresh = real.malloc(n);
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
	real.malloc = note_call;
	void *block = program_malloc(1);
	if (was_called)
		next_free(block);
	return was_called;
}

static bool is_shadowed(void)
{
	void *(*program_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	return program_malloc != (void *(*)(size_t))own_malloc && !is_jump_to_own(program_malloc);
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

static void look_up(void)
{
	next_malloc = (void *(*)(size_t))next("malloc");
	real.posix_memalign = (int (*)(void **, size_t, size_t))next("posix_memalign");
	real.aligned_alloc = (void *(*)(size_t, size_t))next("aligned_alloc");
	real.memalign = (void *(*)(size_t, size_t))next("memalign");
	real.valloc = (void *(*)(size_t))next("valloc");
	real.pvalloc = (void *(*)(size_t))next("pvalloc");
	real.calloc = (void *(*)(size_t, size_t))next("calloc");
	next_free = (void (*)(void *))next("free");
	next_realloc = (void *(*)(void *, size_t))next("realloc");
	if (is_shadowed())
		alloc_ring_set_shadowed();
	if (has_other_new())
		alloc_ring_set_other_new();
	real.malloc = next_malloc;
	real.free = boot_used ? free_if_real : next_free;
	real.realloc = boot_used ? realloc_if_real : next_realloc;
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
	return start() ? real.malloc(n) : boot_take(n);
}

static void *boot_calloc(size_t n, size_t each)
{
	size_t n_bytes;
	if (start())
		return real.calloc(n, each);
	return __builtin_mul_overflow(n, each, &n_bytes) ? NULL : boot_take(n_bytes);
}

static void boot_free(void *block)
{
	if (start() && !is_boot(block))
		real.free(block);
}

static void *boot_realloc(void *block, size_t n)
{
	return start() ? real.realloc(block, n) : block ? NULL : boot_take(n);
}

static int boot_posix_memalign(void **ret, size_t align, size_t n)
{
	return start() ? real.posix_memalign(ret, align, n) : ENOMEM;
}

static void *boot_aligned_alloc(size_t align, size_t n)
{
	return start() ? real.aligned_alloc(align, n) : NULL;
}

static void *boot_memalign(size_t align, size_t n)
{
	return start() ? real.memalign(align, n) : NULL;
}

static void *boot_valloc(size_t n)
{
	return start() ? real.valloc(n) : NULL;
}

static void *boot_pvalloc(size_t n)
{
	return start() ? real.pvalloc(n) : NULL;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* While nobody listens, a hook is a test and a jump; a block that is not sampled is counted before
 * it is allocated, so that the hook needs no frame.  The rest is in functions of their own: if a
 * compiler puts both into one, a dormant hook has a jump more. */
#define RECORDED static __attribute__((noinline))
#define RARE static __attribute__((noinline, cold))

static inline bool passes(size_t n_bytes)
{
	uint32_t recording = alloc_sampler_recording();
	return alloc_sampler_is_idle(recording) ||
	       __builtin_expect(alloc_sampler_passes(recording, n_bytes), 1);
}

static inline void *taken(void *block, size_t n_bytes)
{
	alloc_sampler_take(block, n_bytes);
	return block;
}

RARE void *malloc_taken(size_t n)
{
	return taken(real.malloc(n), n);
}

RECORDED void *malloc_recorded(size_t n)
{
	bool is_passed = alloc_sampler_passes(alloc_sampler_recording(), n);
	return __builtin_expect(is_passed, 1) ? real.malloc(n) : malloc_taken(n);
}

EXPORT void *malloc(size_t n)
{
	bool is_idle = alloc_sampler_is_idle(alloc_sampler_recording());
	return is_idle ? real.malloc(n) : malloc_recorded(n);
}

RARE void *calloc_taken(size_t n, size_t each)
{
	return taken(real.calloc(n, each), n * each);
}

EXPORT void *calloc(size_t n, size_t each)
{
	return passes(n * each) ? real.calloc(n, each) : calloc_taken(n, each);
}

RARE void free_sampled(void *block)
{
	alloc_sampler_end(block);
	real.free(block);
}

EXPORT void free(void *block)
{
	if (!alloc_sampler_wants_frees() || __builtin_expect(!alloc_live_may_have(block), 1))
		real.free(block);
	else
		free_sampled(block);
}

RARE void *realloc_recorded(void *block, size_t n)
{
	bool was_sampled = alloc_sampler_wants_frees() && alloc_sampler_suspend(block);
	void *moved = real.realloc(block, n);
	/* realloc(p, 0) may have freed the block */
	if (!moved && was_sampled && n)
		alloc_sampler_restore(block);
	return alloc_sampler_passes(alloc_sampler_recording(), n) ? moved : taken(moved, n);
}

EXPORT void *realloc(void *block, size_t n)
{
	bool is_idle = alloc_sampler_is_idle(alloc_sampler_recording());
	return is_idle ? real.realloc(block, n) : realloc_recorded(block, n);
}

EXPORT void *reallocarray(void *block, size_t n, size_t each)
{
	size_t n_bytes;
	if (!__builtin_mul_overflow(n, each, &n_bytes))
		return realloc(block, n_bytes);
	errno = ENOMEM;
	return NULL;
}

EXPORT int posix_memalign(void **ret, size_t align, size_t n)
{
	bool is_passed = passes(n);
	int r = real.posix_memalign(ret, align, n);
	if (!is_passed)
		alloc_sampler_take(r == 0 ? *ret : NULL, n);
	return r;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	return passes(n) ? real.aligned_alloc(align, n) : taken(real.aligned_alloc(align, n), n);
}

EXPORT void *memalign(size_t align, size_t n)
{
	return passes(n) ? real.memalign(align, n) : taken(real.memalign(align, n), n);
}

EXPORT void *valloc(size_t n)
{
	return passes(n) ? real.valloc(n) : taken(real.valloc(n), n);
}

EXPORT void *pvalloc(size_t n)
{
	return passes(n) ? real.pvalloc(n) : taken(real.pvalloc(n), n);
}

/* ---- cprof-alloc.h -------------------------------------------------------------------------- */

EXPORT void cprof_alloc_allocated(void *block, size_t n_bytes)
{
	if (block && !passes(n_bytes))
		alloc_sampler_take(block, n_bytes);
}

EXPORT void cprof_alloc_freed(void *block)
{
	if (alloc_sampler_wants_frees() && block && alloc_live_may_have(block))
		alloc_sampler_end(block);
}
