/*
 * What a pair of malloc(3) and free(3) costs: sizes of 16 to 527 bytes, 64 blocks in use.
 * mallocpairs [PAIRS]: prints the nanoseconds of this process's CPU time per pair.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIVE 64u

static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	static void *volatile block[LIVE];
	long n = argc > 1 ? atol(argv[1]) : 50000000;
	uint32_t random = 1;
	double start = cpu_ns();
	for (long i = 0; i < n; i++) {
		random = random * 1664525u + 1013904223u;
		void *volatile *place = &block[random >> 8 & (LIVE - 1)];
		free(*place);
		*place = malloc(16 + (random >> 16 & 511));
	}
	printf("%.3f\n", (cpu_ns() - start) / (double)n);
	return 0;
}
