/*
 * Samples are the points of a Poisson process over the bytes that a thread allocates: the distance
 * between two of them is exponential, so a block of n bytes is sampled with the probability
 * 1 - exp(-n / mean), independently of the blocks before it.
 *
 * The probes are those that the OpenTelemetry profiler's design document 00003 defines, in the
 * format of <sys/sdt.h>: a note with the place of a nop, of a semaphore, and of the arguments.  The
 * nop has five bytes on x86-64, which the kernel can replace by a call (Linux 6.18).
 */

#include "preload/alloc-sampler.h"

#include "preload/alloc-math.h"

#include <errno.h>
#include <stdlib.h>

/* As <sys/sdt.h> does: in a section of that name. */
__attribute__((section(".probes"), used, visibility("hidden")))
union alloc_sampler_wanted alloc_sampler_wanted;

static uint64_t probes_mean = ALLOCFORMAT_MEAN;
static uint32_t cleared;       /* the recording that the table of blocks belongs to */

/* ---- probes --------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define NOP ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define ARG_1 "8@%%rdi"
#define ARG_2 "8@%%rsi"
#define ARG_3 "8@%%rdx"
#elif defined(__aarch64__)
#define NOP "nop"
#define ARG_1 "8@x0"
#define ARG_2 "8@x1"
#define ARG_3 "8@x2"
#endif

#define PROBE(name, semaphore, args)                                                     \
	"990:	" NOP "\n"                                                               \
	"	.pushsection .note.stapsdt, \"\", %%note\n"                               \
	"	.balign 4\n"                                                             \
	"	.long 992f - 991f, 994f - 993f, 3\n"                                     \
	"991:	.asciz \"stapsdt\"\n"                                                     \
	"992:	.balign 4\n"                                                             \
	"993:	.quad 990b, _.stapsdt.base, " semaphore "\n"                              \
	"	.asciz \"otel_memory\"\n"                                                \
	"	.asciz \"" name "\"\n"                                                   \
	"	.asciz \"" args "\"\n"                                                   \
	"994:	.balign 4\n"                                                             \
	"	.popsection\n"

/* The base from which tools compute the addresses of a file that was relinked. */
__asm__(".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
	"	.weak _.stapsdt.base\n"
	"	.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	"	.size _.stapsdt.base, 1\n"
	"	.popsection\n");

static __attribute__((noinline)) void probe_alloc(void *block, size_t n_bytes, uint64_t weight)
{
#if defined(__x86_64__)
	__asm__ volatile(PROBE("alloc", "alloc_sampler_wanted", ARG_1 " " ARG_2 " " ARG_3)
			 : : "D"(block), "S"(n_bytes), "d"(weight) : "memory");
#elif defined(__aarch64__)
	register void *a __asm__("x0") = block;
	register size_t b __asm__("x1") = n_bytes;
	register uint64_t c __asm__("x2") = weight;
	__asm__ volatile(PROBE("alloc", "alloc_sampler_wanted", ARG_1 " " ARG_2 " " ARG_3)
			 : : "r"(a), "r"(b), "r"(c) : "memory");
#endif
}

static __attribute__((noinline)) void probe_free(void *block)
{
#if defined(__x86_64__)
	__asm__ volatile(PROBE("free", "alloc_sampler_wanted + 2", ARG_1)
			 : : "D"(block) : "memory");
#elif defined(__aarch64__)
	register void *a __asm__("x0") = block;
	__asm__ volatile(PROBE("free", "alloc_sampler_wanted + 2", ARG_1)
			 : : "r"(a) : "memory");
#endif
}

/* ---- distances ------------------------------------------------------------------------------ */

static uint64_t mean_now(void)
{
	const struct allocformat_head *h = &alloc_ring_page.head;
	uint64_t mean = __atomic_load_n(&h->active, __ATOMIC_RELAXED) ? h->mean : probes_mean;
	return mean ? mean : 1;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t random_bits(struct alloc_thread *t)
{
	t->random += 0x9e3779b97f4a7c15u;
	return mix(t->random);
}

static uint64_t draw(struct alloc_thread *t)
{
	double u = (double)((random_bits(t) >> 11) + 1) * (1.0 / 9007199254740993.0);
	double bytes = -alloc_math_ln(u) * (double)mean_now();
	return bytes < 1e18 ? (uint64_t)bytes + 1 : UINT64_MAX / 4;
}

void alloc_sampler_configure(void)
{
	const char *text = getenv(ALLOCFORMAT_MEAN_VARIABLE);
	uint64_t mean = 0;
	for (; text && *text >= '0' && *text <= '9' && mean < UINT32_MAX; text++)
		mean = mean * 10 + (uint64_t)(*text - '0');
	if (mean)
		probes_mean = mean;
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void take_regs(struct alloc_ring_regs *ret)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rbx, 0(%0)\n movq %%rbp, 8(%0)\n movq %%rsp, 16(%0)\n"
			 "leaq 0(%%rip), %%rax\n movq %%rax, 24(%0)\n"
			 "movq %%r12, 32(%0)\n movq %%r13, 40(%0)\n"
			 "movq %%r14, 48(%0)\n movq %%r15, 56(%0)\n"
			 : : "c"(ret->r) : "rax", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("stp x19, x20, [%0]\n stp x21, x22, [%0, 16]\n"
			 "stp x23, x24, [%0, 32]\n stp x25, x26, [%0, 48]\n"
			 "stp x27, x28, [%0, 64]\n stp x29, x30, [%0, 80]\n"
			 "mov x9, sp\n adr x10, .\n stp x9, x10, [%0, 96]\n"
			 : : "r"(ret->r) : "x9", "x10", "memory");
#endif
}

/* False: in another hook of this thread. */
static bool enter(struct alloc_thread *t)
{
	if (*(volatile uint32_t *)&t->is_busy)
		return false;
	*(volatile uint32_t *)&t->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static void leave(struct alloc_thread *t)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile uint32_t *)&t->is_busy = 0;
}

/*
 * The thread's first block of a recording: what remained from an earlier one says nothing.  Blocks
 * of an earlier one, whose ends nobody has reported, must go, too: one thread removes them, and
 * until then the others sample nothing.
 */
static bool begin(struct alloc_thread *t, uint32_t recording)
{
	uint32_t of = __atomic_load_n(&cleared, __ATOMIC_ACQUIRE);
	static uint32_t is_clearing;
	if (of != recording) {
		if (__atomic_exchange_n(&is_clearing, 1, __ATOMIC_ACQUIRE))
			return false;
		if (__atomic_load_n(&cleared, __ATOMIC_RELAXED) != recording)
			alloc_live_clear();
		__atomic_store_n(&cleared, recording, __ATOMIC_RELEASE);
		__atomic_store_n(&is_clearing, 0, __ATOMIC_RELEASE);
	}
	t->recording = recording;
	t->left = t->passed = t->last = 0;
	t->is_inherited = false;
	return true;
}

/* What a forked process allocates up to its first sample is not known: its count begins there. */
static void report_to_ring(struct alloc_thread *t, const struct alloc_ring_block *b)
{
	if (!alloc_ring_put_alloc(b)) {
		if (b->is_tracked)
			alloc_live_take(b->block);
		return;
	}
	t->passed = 0;
	t->last = t->is_inherited ? 0 : b->n_bytes;
	t->is_inherited = false;
}

static void report(struct alloc_thread *t, void *block, size_t n_bytes,
		   const struct alloc_ring_regs *regs)
{
	uint64_t mean = mean_now();
	bool is_tracked = !alloc_sampler_wants_frees() || alloc_live_add(block);
	if (__atomic_load_n(&alloc_sampler_wanted.any, __ATOMIC_RELAXED))
		probe_alloc(block, n_bytes, alloc_math_weight(n_bytes, mean));
	uint64_t now_ns = alloc_ring_read_time();
	const struct alloc_ring_block b = {
		block, n_bytes, now_ns,
		{ mean, t->is_inherited ? n_bytes : t->passed, t->is_inherited ? 0 : t->last },
		is_tracked, regs,
	};
	if (now_ns)
		report_to_ring(t, &b);
}

/* The bytes until the next sample are counted from the end of this block. */
static bool is_due(struct alloc_thread *t, size_t n_bytes, uint32_t recording)
{
	if (t->recording != recording && !begin(t, recording))
		return false;
	if (!t->left)
		t->left = t->drawn = draw(t);
	if (n_bytes < t->left) {
		t->left -= n_bytes;
		return false;
	}
	t->passed += t->drawn - t->left + n_bytes;
	t->left = t->drawn = draw(t);
	return true;
}

__attribute__((noinline)) void alloc_sampler_take(void *block, size_t n_bytes)
{
	struct alloc_ring_regs regs;
	int errnum = errno;
	take_regs(&regs);
	struct alloc_thread *t = &alloc_thread;
	if (!enter(t))
		return;
	alloc_thread_now();
	if (is_due(t, n_bytes, alloc_sampler_recording())) {
		if (block)
			report(t, block, n_bytes, &regs);
		else
			t->passed -= n_bytes;
	}
	leave(t);
	errno = errnum;
}

static void report_end(void *block, enum allocformat_id id)
{
	uint64_t now_ns = alloc_ring_read_time();
	if (now_ns)
		alloc_ring_put_free(block, id, now_ns);
}

/* In the middle of another hook of its thread, a signal handler frees its block silently. */
static bool end_block(void *block)
{
	struct alloc_thread *t = &alloc_thread;
	if (!block || !alloc_live_take(block))
		return false;
	int errnum = errno;
	if (enter(t)) {
		probe_free(block);
		report_end(block, ALLOCFORMAT_FREE);
		leave(t);
	}
	errno = errnum;
	return true;
}

void alloc_sampler_end(void *block)
{
	end_block(block);
}

bool alloc_sampler_suspend(void *block)
{
	return alloc_live_may_have(block) && end_block(block);
}

void alloc_sampler_restore(void *block)
{
	struct alloc_thread *t = &alloc_thread;
	int errnum = errno;
	if (alloc_live_add(block) && enter(t)) {
		report_end(block, ALLOCFORMAT_RESTORE);
		leave(t);
	}
	errno = errnum;
}
