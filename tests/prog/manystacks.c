/*
 * Almost all stacks differ: a random walk, of random depth, through three functions that call each
 * other.
 *
 * usage: manystacks [CPU_MILLISECONDS]
 */
#include "prog.h"

static uint32_t state = 2463534242u;

static uint32_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void walk(unsigned depth);

#define STEP(name) \
	PROG_NOINLINE static void name(unsigned depth) \
	{ \
		if (depth) \
			walk(depth - 1); \
		else \
			prog_work(20000); \
		PROG_KEEP_FRAME(); \
	}

STEP(left)
STEP(middle)
STEP(right)

PROG_NOINLINE static void walk(unsigned depth)
{
	static void (*const steps[])(unsigned) = {left, middle, right};
	steps[next_random() % 3](depth);
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t end_ns = prog_arg(argc, argv, 1, 2000) * 1000000;
	while (prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		walk(10 + next_random() % 40);
	prog_print_cpu();
	return 0;
}
