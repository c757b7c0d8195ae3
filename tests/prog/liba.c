/* The library that dlopener loads first: one function, work_in_a. */
#include "prog.h"

void work_in_a(uint64_t rounds);

PROG_NOINLINE void work_in_a(uint64_t rounds)
{
	while (rounds--)
		prog_work(1000000);
	PROG_KEEP_FRAME();
}
