#ifndef CPROF_TESTS_UNIT_FAULTPAGES_H
#define CPROF_TESTS_UNIT_FAULTPAGES_H

/* Page faults that a test counts. */

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps n fresh small pages, touches each once, and unmaps them.  Returns how many it touched: 0 or
 * n. */
static inline size_t faultpages_touch(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 0;
	madvise(p, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * page] = 1;
	munmap(p, n * page);
	return n;
}

#endif
