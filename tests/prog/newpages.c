/*
 * Uses new memory at two places, and old memory again at a third: how many page faults each had.
 *
 * usage: newpages [huge]    (huge: the region may have huge pages)
 */
#include "prog.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_BLOCKS 40000u        /* 39 MiB */
#define REGION_BYTES (16u << 20)
#define N_ROUNDS 2000u

static char *block[N_BLOCKS];

PROG_NOINLINE static void small_blocks(void)
{
	for (unsigned i = 0; i < N_BLOCKS; i++) {
		block[i] = malloc(1000);
		if (!block[i])
			exit(1);
		memset(block[i], 1, 1000);
	}
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void touch_region(volatile char *p)
{
	for (size_t i = 0; i < REGION_BYTES; i += 4096)
		p[i] = 1;
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void reuse(void)
{
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		void *volatile p = malloc(5000);
		if (!p)
			exit(1);
		memset(p, (int)i, 5000);
		free(p);
	}
	PROG_KEEP_FRAME();
}

static long faults(void)
{
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_minflt + ru.ru_majflt;
}

/* Of this process, in huge pages. */
static long huge_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "AnonHugePages: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

int main(int argc, char **argv)
{
	void *p = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (p == MAP_FAILED)
		return 1;
	madvise(p, REGION_BYTES, argc > 1 && strcmp(argv[1], "huge") == 0 ? MADV_HUGEPAGE
									  : MADV_NOHUGEPAGE);
	long start = faults();
	small_blocks();
	long middle = faults();
	touch_region(p);
	long end = faults();
	reuse();
	printf("page_bytes %ld\nsmall_blocks %ld\ntouch_region %ld\nreuse %ld\n",
	       sysconf(_SC_PAGESIZE), middle - start, end - middle, faults() - end);
	printf("huge_kib %ld\n", huge_kib());
	prog_print_cpu();
	return 0;
}
