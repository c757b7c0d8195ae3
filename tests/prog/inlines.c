/*
 * A chain of inlined calls with known names and lines: the call at AT:x is in function x.  Tests
 * search this file for the marked lines.
 *
 * usage: inlines [ROUNDS]
 */
#include "prog.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

static uint64_t state = 1;

ALWAYS_INLINE uint64_t innermost(uint64_t x)
{
	for (int i = 0; i < 1000000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u; /* AT:innermost */
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

ALWAYS_INLINE uint64_t middle(uint64_t x)
{
	return innermost(x + 1); /* AT:middle */
}

PROG_NOINLINE static uint64_t outermost(uint64_t x) /* START:outermost */
{
	uint64_t y = middle(x ^ 5); /* AT:outermost */
	PROG_KEEP_FRAME();
	return y;
}

int main(int argc, char **argv)
{
	for (uint64_t n = prog_arg(argc, argv, 1, 500); n; n--) {
		state = outermost(state); /* AT:main */
	}
	prog_print_cpu();
	return state == 0;
}
