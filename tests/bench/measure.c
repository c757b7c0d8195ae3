/*
 * Runs a command and measures its cost, including children that it waited for.
 *
 *	measure FILE COMMAND [ARG...]
 *
 * The command inherits stdin, stdout and stderr, and its status becomes ours.  Writes lines "name
 * value" to FILE: start_ns, end_ns (CLOCK_MONOTONIC), start_real_ns (CLOCK_REALTIME), cpu_ns,
 * peak_bytes, status.  This program is small because the peak memory of a process starts at that of
 * the process that forked it.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: measure FILE COMMAND [ARG...]\n", stderr);
		return 64;
	}
	uint64_t start_real_ns = clock_ns(CLOCK_REALTIME), start_ns = clock_ns(CLOCK_MONOTONIC);
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status;
	struct rusage used;
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid) {
		perror("measure");
		return 1;
	}
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	FILE *to = fopen(argv[1], "w");
	if (!to) {
		perror(argv[1]);
		return 1;
	}
	fprintf(to, "start_real_ns %" PRIu64 "\nstart_ns %" PRIu64 "\nend_ns %" PRIu64 "\n",
		start_real_ns, start_ns, end_ns);
	fprintf(to, "cpu_ns %" PRIu64 "\npeak_bytes %" PRIu64 "\nstatus %d\n",
		time_ns(used.ru_utime) + time_ns(used.ru_stime),
		(uint64_t)used.ru_maxrss * 1024, status);
	if (fclose(to) != 0) {
		perror(argv[1]);
		return 1;
	}
	return status;
}
