/*
 * One thread, the callchain A -> B -> ... -> J in which each function does one unit of work
 * more than its caller: A takes 1/55 of the time (1.82 %), J 10/55 (18.18 %).  This is the program
 * of the Go project's proposal for profiles of hardware events, rewritten in C.
 *
 * usage: serial [ROUNDS [TIMES]]     (220 rounds are about 3 CPU seconds)
 *
 * Each function does its work TIMES times (default: 1) before it calls the next one.
 */
#include "progclock.h"

/* a constant, so that compilers generate the same loop for all */
#define UNIT 110000

static uint64_t times;

#define LINK(name, units, next) \
	PROG_NOINLINE static void name(void) \
	{ \
		for (uint64_t m = times; m; m--) \
			prog_work((units) * (uint64_t)UNIT); \
		next; \
		PROG_KEEP_FRAME(); \
	}

LINK(J, 10, )
LINK(I, 9, J())
LINK(H, 8, I())
LINK(G, 7, H())
LINK(F, 6, G())
LINK(E, 5, F())
LINK(D, 4, E())
LINK(C, 3, D())
LINK(B, 2, C())
LINK(A, 1, B())

int main(int argc, char **argv)
{
	int clock_fd = prog_clock_open();
	times = prog_arg(argc, argv, 2, 1);
	for (uint64_t n = prog_arg(argc, argv, 1, 220); n; n--)
		A();
	prog_print_clock(clock_fd);
	prog_print_cpu();
	return 0;
}
