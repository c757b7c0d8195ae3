#include "base/hugemem.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25                /* of Linux 6.1 */
#endif

/* On x86-64, and on arm64 with pages of 4 KiB. */
#define HUGE_BYTES ((size_t)2 << 20)

static size_t rounded(size_t n_bytes)
{
	return (n_bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
}

void *hugemem_new(size_t n_bytes)
{
	if (n_bytes > SIZE_MAX - 2 * HUGE_BYTES)
		return NULL;
	size_t n = rounded(n_bytes ? n_bytes : 1);
	uint8_t *p = mmap(NULL, n + HUGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	size_t n_before = (size_t)(-(uintptr_t)p & (HUGE_BYTES - 1));
	if (n_before)
		munmap(p, n_before);
	p += n_before;
	if (n_before < HUGE_BYTES)
		munmap(p + n, HUGE_BYTES - n_before);
	return p;
}

void hugemem_join(void *p, size_t n_bytes)
{
	size_t n = rounded(n_bytes ? n_bytes : 1);
	/* the kernel's own thread does it some time if it cannot be done at once */
	madvise(p, n, MADV_HUGEPAGE);
	madvise(p, n, MADV_COLLAPSE);
}

void hugemem_free(void *p, size_t n_bytes)
{
	if (p)
		munmap(p, rounded(n_bytes ? n_bytes : 1));
}
