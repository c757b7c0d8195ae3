/*
 * The main thread and those of the C library have stacks whose top is known.  Everything between
 * the stack pointer and the top is in use, so it stays mapped: once the pages from the top down to
 * the stack pointer have been found mapped without a gap, the stack is simply copied.  The test is
 * a system call that reads from an address, and does nothing else.
 *
 * Coroutines and signal handlers may have stacks of their own, whose end is not known:
 * pthread_getattr_np(3) does not know it either, takes a lock and allocates.  They are copied by
 * process_vm_readv(2), which ends at the first page that is not mapped.
 */

#include "preload/alloc-stack.h"

#include "source/allocformat.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u             /* at most a page of this machine */
#define PIECES_MAX (ALLOCFORMAT_STACK_BYTES_MAX / PAGE + 2)
#define TESTS_MAX 32u          /* pages that one sample looks at */
#define DEPTH_MAX (UINT64_C(8) << 20)

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

static uint64_t main_top(void)
{
	return &__libc_stack_end && __libc_stack_end ? (uint64_t)__libc_stack_end + 64 : 0;
}

/* C libraries place the memory of a thread just above its stack; 0: not known. */
static uint64_t top_of(const struct alloc_thread *t)
{
	return t->tid == t->pid ? main_top() : thread_pointer();
}

/* The kernel reads the signal set before it rejects the operation. */
static bool is_mapped(uint64_t address)
{
	const int no_operation = -1;
	return syscall(SYS_rt_sigprocmask, no_operation, address, NULL, 8) == 0 ||
	       errno != EFAULT;
}

static bool is_known(struct alloc_thread *t, uint64_t sp, uint64_t top)
{
	uint64_t low = t->stack_low ? t->stack_low : top / PAGE * PAGE;
	if (sp >= top || low - sp > DEPTH_MAX)
		return sp >= low && sp < top;
	for (unsigned n = 0; sp < low && n < TESTS_MAX && is_mapped(low - PAGE); n++)
		low -= PAGE;
	t->stack_low = low;
	return sp >= low;
}

static uint64_t up_to(uint64_t sp, uint64_t top, uint64_t n_bytes)
{
	return top > sp && top - sp < n_bytes ? (top - sp) & ~UINT64_C(7) : n_bytes;
}

/* memcpy(3) may be that of a sanitizer, which allows no access to all of a stack. */
static void copy(void *to, uint64_t from, uint64_t n_bytes)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n_bytes) : : "memory");
#else
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	const volatile pair *p = (const volatile pair *)from;
	const volatile uint64_t *last = (const volatile uint64_t *)(from + n_bytes) - 1;
	pair *q = to;
	for (uint64_t i = 0; i < n_bytes / 16; i++)
		q[i] = p[i];
	if (n_bytes % 16)
		((uint64_t *)to)[n_bytes / 8 - 1] = *last;
#endif
}

static uint64_t copy_unknown(const struct alloc_thread *t, void *to, uint64_t sp, uint64_t n_max)
{
	const struct iovec local = { to, n_max };
	struct iovec remote[PIECES_MAX];
	unsigned n = 0;
	for (uint64_t at = 0; at < n_max && n < PIECES_MAX; n++) {
		uint64_t n_bytes = PAGE - (sp + at) % PAGE;
		n_bytes = n_bytes < n_max - at ? n_bytes : n_max - at;
		remote[n] = (struct iovec){ (void *)(sp + at), n_bytes };
		at += n_bytes;
	}
	long copied = syscall(SYS_process_vm_readv, t->pid, &local, 1, remote, n, 0);
	return copied > 0 ? (uint64_t)copied & ~UINT64_C(7) : 0;
}

/* On a stack that is not known the tops say nothing, unless they are near: then the copy is longer
 * than needed. */
uint64_t alloc_stack_copy(struct alloc_thread *t, void *to, uint64_t sp, uint64_t n_max)
{
	uint64_t top = top_of(t);
	if (!is_known(t, sp, top))
		return copy_unknown(t, to, sp, up_to(sp, main_top(), up_to(sp, thread_pointer(),
									   n_max)));
	n_max = up_to(sp, top, n_max);
	copy(to, sp, n_max);
	return n_max;
}
