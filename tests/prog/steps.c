/*
 * steps [SLOWER]: a fixed amount of work in five functions, like a program that a CI measures:
 * hashing, parsing, a sort, a walk through memory beyond the caches, and floating point.  SLOWER
 * is how much more work the whole program has, in thousandths, all of it in hash(): 50 is 5 %.
 *
 * Prints a checksum, which depends on SLOWER only.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1500
#define WORDS (4u << 20)  /* 16 MiB */
#define HASHES 33000      /* in each round: 30 % of the work */

static uint32_t table[WORDS];
static int numbers[600];

__attribute__((noinline)) static uint64_t hash(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		x ^= x >> 31;
		x *= 0x9e3779b97f4a7c15;
	}
	return x;
}

__attribute__((noinline)) static uint64_t parse(const char *text)
{
	uint64_t sum = 0;
	while (*text) {
		char *end;
		sum += strtoul(text, &end, 10);
		text = end + (*end == ',');
	}
	return sum;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort(uint64_t x)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		numbers[i] = (int)(x >> 40);
	}
	qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), by_value);
}

__attribute__((noinline)) static uint32_t walk(uint32_t at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		at = (table[at] + at * 1664525 + 1013904223) % WORDS;
	return at;
}

__attribute__((noinline)) static double integrate(unsigned n)
{
	double sum = 0;
	for (unsigned i = 1; i <= n; i++)
		sum += 1.0 / ((double)i * i);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned slower = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t x = 88172645463325252;
	uint32_t at = 1;
	double sum = 0;
	char text[1000] = "";
	for (int i = 0; i < 120; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d,", i * 977);
	for (uint32_t i = 0; i < WORDS; i++)
		table[i] = i * 2654435761u;
	for (int i = 0; i < ROUNDS; i++) {
		x = hash(x, HASHES) + parse(text) + parse(text);
		sort(x);
		at = walk(at, 6000);
		sum += integrate(20000);
		x = hash(x, HASHES * slower / 300);
	}
	printf("%llx %u %g %d\n", (unsigned long long)x, at, sum, numbers[0]);
	return 0;
}
