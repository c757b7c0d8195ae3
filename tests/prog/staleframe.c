/*
 * A program that waits in a function whose CFA is relative to the frame pointer.  Below its frame's
 * end is what a function that has returned might have left behind: a frame pointer with a return
 * address after an indirect call, whose frame leads to a return address of 0.
 */

#include "prog.h"

#include <unistd.h>

static uintptr_t return_address;

static PROG_NOINLINE void note_caller(void)
{
	return_address = (uintptr_t)__builtin_return_address(0);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void has_returned(void (*volatile f)(void))
{
	f();
	PROG_KEEP_FRAME();
}

/* The number of words is unknown, so that the CFA is not relative to the stack pointer. */
static PROG_NOINLINE void waits_here(uint64_t n_words)
{
	volatile uintptr_t *left = __builtin_alloca(n_words * sizeof(*left));
	for (uint64_t i = 0; i < n_words; i++)
		left[i] = 0;
	for (uint64_t i = 0; i + 16 < n_words; i += 16) {
		left[i] = (uintptr_t)&left[i + 8];
		left[i + 1] = return_address;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	has_returned(note_caller);
	volatile char deep[8192];
	deep[0] = 0;
	waits_here(prog_arg(argc, argv, 1, 64));
	return deep[0];
}
