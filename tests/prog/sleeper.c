/*
 * Sleeps and uses no CPU time: nothing to sample.
 *
 * usage: sleeper [MILLISECONDS]
 */
#include "prog.h"

int main(int argc, char **argv)
{
	uint64_t ms = prog_arg(argc, argv, 1, 1000);
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000),
			       .tv_nsec = (long)(ms % 1000) * 1000000 };
	puts("ready");
	fflush(stdout);
	nanosleep(&ts, NULL);
	return 0;
}
