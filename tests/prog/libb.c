/*
 * The library that dlopener loads second.  `before_b` has the addresses that work_in_a has in the
 * other library, so confusing the libraries shows in the names.
 */
#include "prog.h"

void before_b(uint64_t rounds);
void work_in_b(uint64_t rounds);

PROG_NOINLINE void work_in_b(uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		prog_work(500000);
		prog_work(500000);
	}
	PROG_KEEP_FRAME();
}

PROG_NOINLINE void before_b(uint64_t rounds)
{
	prog_work(rounds);
}
