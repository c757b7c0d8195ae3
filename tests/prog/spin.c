/*
 * Work at the bottom of a recursion of known depth.
 *
 * usage: spin [DEPTH [ROUNDS]]     (1000 rounds are about 0.5 CPU seconds)
 */
#include "prog.h"

PROG_NOINLINE static void spin_leaf(void)
{
	prog_work(250000);
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void recurse(uint64_t depth)
{
	if (depth)
		recurse(depth - 1);
	else
		spin_leaf();
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t depth = prog_arg(argc, argv, 1, 20);
	for (uint64_t n = prog_arg(argc, argv, 2, 2000); n; n--)
		recurse(depth);
	prog_print_cpu();
	return 0;
}
