/*
 * Works and forks; the child executes another program, then the parent executes it, too.
 *
 * usage: execer PROGRAM [ARG...]
 */
#include "prog.h"

#include <sys/wait.h>
#include <unistd.h>

PROG_NOINLINE static void before_exec(void)
{
	prog_work(200000000);
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	before_exec();
	pid_t pid = fork();
	if (pid < 0)
		return 1;
	if (pid)
		waitpid(pid, NULL, 0);
	execvp(argv[1], argv + 1);
	perror("execer: execvp");
	return 127;
}
