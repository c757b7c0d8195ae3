/* With pair-b.c, a program of two units: the second one needs the offsets of its unit's tables. */
#include <stdlib.h>

volatile int sink;
int work(int x);

static inline __attribute__((always_inline)) int twice(int x)
{
	sink += x;
	return x * 2 + sink;
}

__attribute__((noinline)) int first(int x)
{
#ifndef __clang__
	/* a function in a function, which is found by a second walk only */
	__attribute__((noinline)) int inner(int y)
	{
		sink ^= y;
		return twice(y) + 1;
	}
	return inner(twice(x)) + inner(x);
#else
	return twice(x) + twice(sink);
#endif
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 100)
		abort();
	return first(argc) + work(argc);
}
