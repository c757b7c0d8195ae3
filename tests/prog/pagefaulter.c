/*
 * Touches a known number of new pages, one minor fault each; unmaps them and starts again.
 *
 * usage: pagefaulter [PAGES [ROUNDS]]
 */
#include "prog.h"

#include <sys/mman.h>
#include <unistd.h>

PROG_NOINLINE static void touch_pages(volatile char *p, uint64_t n, uint64_t page)
{
	for (uint64_t i = 0; i < n; i++)
		p[i * page] = 1;
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t n = prog_arg(argc, argv, 1, 20000);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	madvise(p, n * page, MADV_NOHUGEPAGE);
	for (uint64_t rounds = prog_arg(argc, argv, 2, 1); rounds; rounds--) {
		touch_pages(p, n, page);
		madvise(p, n * page, MADV_DONTNEED);
	}
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	printf("touched %" PRIu64 "\nfaults %ld\n", n, ru.ru_minflt);
	prog_print_cpu();
	return 0;
}
