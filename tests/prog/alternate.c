/*
 * Alternates between A, which is not to be recorded, and B, which is, and tells the recorder by
 * perf's control protocol.  Each turn ends when its CPU time is used, so other load does not
 * matter.
 *
 * usage: alternate [ROUNDS [MILLISECONDS [CTL_FIFO ACK_FIFO]]]
 */
#include "prog.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int ctl = -1, ack = -1;

PROG_NOINLINE static void A(uint64_t end_ns)
{
	while (prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		prog_work(5000);
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void B(uint64_t end_ns)
{
	while (prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		prog_work(5000);
	PROG_KEEP_FRAME();
}

static void say(const char *line)
{
	char c = 0;
	if (ctl < 0)
		return;
	if (write(ctl, line, strlen(line)) < 0)
		exit(1);
	/* An answer is a line, which the NUL of the previous one may precede. */
	while (c != '\n')
		if (read(ack, &c, 1) != 1)
			exit(1);
}

int main(int argc, char **argv)
{
	uint64_t rounds = prog_arg(argc, argv, 1, 100), ms = prog_arg(argc, argv, 2, 100);
	if (argc > 4) {
		ctl = open(argv[3], O_RDWR);
		ack = open(argv[4], O_RDWR);
		if (ctl < 0 || ack < 0)
			return 1;
	}
	say("ping\n");
	for (uint64_t i = 0; i < rounds; i++) {
		A(prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ms * 1000000);
		say("enable\n");
		B(prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ms * 1000000);
		say("disable\n");
	}
	say("stop\n");
	prog_print_cpu();
	return 0;
}
