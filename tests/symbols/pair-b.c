/* See pair-a.c.  Nested inlined calls with code in several places, and a function that the linker
 * drops if it may, and that then covers the addresses from 0 on. */
#include <stdlib.h>

#ifndef SKIP
#define SKIP 0x2000
#endif
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

extern volatile int sink;

static inline __attribute__((always_inline)) void innermost(int x)
{
	if (__builtin_expect(x == 12345, 0)) {
		sink += 3;
		abort();
	}
	sink += x;
}

static inline __attribute__((always_inline)) void middle(int x)
{
	sink -= 2;
	innermost(x + 1);
	sink *= x;
	innermost(x + 2);
}

__attribute__((noinline)) int work(int x)
{
	for (int i = 0; i < x; i++) {
		middle(i);
		if (sink & 1)
			innermost(sink);
	}
	return sink;
}

/* Large, so that a gap without it is no padding. */
__attribute__((noinline)) int large(int x)
{
	for (int i = 0; i < x; i++) {
		middle(i);
		middle(i * 2);
		middle(i * 3);
		middle(i * 5);
	}
	return sink;
}

__attribute__((noinline)) int dropped(int x)
{
	__asm__ volatile(".skip " TEXT(SKIP));
	innermost(x);
	return sink;
}
