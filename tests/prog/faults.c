/*
 * A signal handler that interrupts a function at its first instruction, so that the byte before
 * belongs to another function.  Built by tests/live/signals.sh.
 *
 * usage: faults [MILLISECONDS]
 */
#include "prog.h"

#include <signal.h>
#include <ucontext.h>

/* faults-first.S: loads from its argument, at once. */
int faults_first(const int *from);

static uint64_t end_ns;
static const int value = 7;

/* Lets the interrupted load read a number. */
static void handler(int n, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	(void)n, (void)info;
	while (prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		prog_work(5000);
#if defined(__aarch64__)
	u->uc_mcontext.regs[0] = (uintptr_t)&value;
#else
	u->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)&value;
#endif
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static int reads(const int *from)
{
	int r = faults_first(from);
	PROG_KEEP_FRAME();
	return r;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigaction(SIGSEGV, &sa, NULL);
	end_ns = prog_arg(argc, argv, 1, 300) * 1000000;
	int r = reads(NULL);
	prog_print_cpu();
	return r != value;
}
