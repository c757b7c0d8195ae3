/*
 * Grows its stack by a page per call, so that its page faults are in functions whose own frame is
 * not in memory yet.
 *
 * usage: grows [CALLS]
 */
#include "prog.h"

PROG_NOINLINE static unsigned int grow(uint64_t n)
{
	volatile char frame[4096];
	frame[0] = (char)n;
	unsigned int r = n ? grow(n - 1) : 0;
	return r + (unsigned int)frame[0];
}

int main(int argc, char **argv)
{
	unsigned int r = grow(prog_arg(argc, argv, 1, 300));
	prog_print_cpu();
	return r == 1;
}
