/*
 * A process whose fork(2) takes long, because it has many mappings.  It says that it is ready,
 * waits for SIGUSR1, and forks; the child works for some time.
 *
 * usage: slowfork MAPPINGS MILLISECONDS
 */
#include "prog.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

PROG_NOINLINE static void child_work(uint64_t ms)
{
	uint64_t end_ns = prog_clock_ns(CLOCK_MONOTONIC) + ms * 1000000u;
	while (prog_clock_ns(CLOCK_MONOTONIC) < end_ns)
		prog_work(100000);
	PROG_KEEP_FRAME();
}

/* Neighbours with different rights are mappings of their own. */
static int make_mappings(uint64_t n)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, n * page_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < n; i++) {
		p[i * page_bytes] = 1;
		if (i % 2 && mprotect(p + i * page_bytes, page_bytes, PROT_READ) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	sigset_t set;
	int number;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (make_mappings(prog_arg(argc, argv, 1, 60000)) < 0) {
		perror("slowfork");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	sigwait(&set, &number);
	uint64_t start_ns = prog_clock_ns(CLOCK_MONOTONIC);
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		child_work(prog_arg(argc, argv, 2, 1000));
		_exit(0);
	}
	printf("fork took %" PRIu64 " ms\n",
	       (prog_clock_ns(CLOCK_MONOTONIC) - start_ns) / 1000000u);
	waitpid(pid, NULL, 0);
	return 0;
}
