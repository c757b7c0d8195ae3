#include "base/err.h"
#include "cmd/launch.h"
#include "cmd/realtime.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err e;
static sigset_t before;

static bool alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* Runs a command to its end; returns its exit status, or the error of the exec. */
static int run(char *const *argv, struct launch *l)
{
	int code = launch_fork(l, (char **)argv, &before, -1, NULL, &e);
	if (code == 0)
		code = launch_exec(l, &e);
	if (code == 0) {
		launch_reap(l, true);
		code = launch_status(l);
	}
	launch_done(l);
	return code;
}
#define SH(script) (char *[]){ (char *)"sh", (char *)"-c", (char *)(script), NULL }

static void test_status(void)
{
	struct launch l;
	int n_before = n_descriptors();
	tap_int(run(SH("exit 0"), &l), 0, "a command that succeeds");
	tap_int(run(SH("exit 42"), &l), 42, "one that fails");
	tap_int(run(SH("kill -TERM $$"), &l), 128 + SIGTERM, "one that is killed");
	tap_int(run(SH("kill -KILL $$"), &l), 128 + SIGKILL, "one that cannot catch the signal");
	tap_int(run(SH("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"), &l), 0,
		"a command that burns CPU time");
	tap_ok(l.ended && l.cpu_ns > 1000000 && l.cpu_ns < 60000000000u, "its CPU time is known");
	uint64_t alone = l.cpu_ns;
	run(SH("sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done'; true"), &l);
	tap_ok(l.cpu_ns > alone, "CPU time includes its children");
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

static void test_failures(void)
{
	struct launch l;
	int n_before = n_descriptors();
	char *missing[] = { (char *)"no-such-command-here", NULL };
	tap_int(run(missing, &l), -ENOENT, "a command that is missing");
	tap_ok(strstr(e.what, "no-such-command-here") && strstr(e.hint, "PATH"), "is reported");
	tap_ok(l.ended && launch_status(&l) == 127, "its status is 127, as in a shell");
	char closed[] = "/tmp/test-launch-XXXXXX", path[256];
	char *old_path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	if (mkdtemp(closed)) {
		chmod(closed, 0);
		snprintf(path, sizeof(path), "/usr/bin:%s:/bin", closed);
		setenv("PATH", path, 1);
		uid_t uid = geteuid();
		if (uid == 0 && seteuid(65534) < 0)
			exit(1);
		tap_int(run(missing, &l), -ENOENT, "the same with an unreadable folder in PATH");
		tap_int(launch_status(&l), 127, "its status is 127, too");
		if (seteuid(uid) < 0)
			exit(1);
		rmdir(closed);
		if (old_path)
			setenv("PATH", old_path, 1);
	}
	free(old_path);
	char *folder[] = { (char *)"/tmp", NULL };
	tap_int(run(folder, &l), -EACCES, "a command that is a folder");
	tap_ok(e.hint[0] && launch_status(&l) == 126, "is reported, and its status is 126");

	char name[] = "/tmp/test-launch-XXXXXX";
	int fd = mkstemp(name);
	char *file[] = { name, NULL };
	if (fd >= 0 && write(fd, "#!/no/such/interpreter\n", 23) == 23)
		close(fd);
	chmod(name, 0600);
	tap_int(run(file, &l), -EACCES, "a file that is not executable");
	tap_int(launch_status(&l), 126, "its status is 126");
	chmod(name, 0700);
	tap_int(run(file, &l), -ENOENT, "a script whose interpreter is missing");
	tap_ok(strstr(e.hint, "interpreter"), "is reported");
	unlink(name);
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

/* The process exists, but does nothing before launch_exec(). */
static void test_waiting(void)
{
	struct launch l;
	char name[] = "/tmp/test-launch-XXXXXX";
	int fd = mkstemp(name);
	char script[128];
	unlink(name);
	if (fd >= 0)
		close(fd);
	snprintf(script, sizeof(script), "echo > %s", name);
	tap_int(launch_fork(&l, SH(script), &before, -1, NULL, &e), 0, "a command is started");
	tap_ok(l.pid > 0 && alive(l.pid), "its process exists");
	tap_ok(!launch_reap(&l, false), "it has not ended");
	usleep(50000);
	tap_ok(access(name, F_OK) < 0, "the command does not run yet");
	tap_int(launch_exec(&l, &e), 0, "launch_exec() succeeds");
	launch_reap(&l, true);
	tap_ok(access(name, F_OK) == 0, "the command has run");
	tap_ok(launch_reap(&l, false) && launch_reap(&l, true), "its end stays known");
	launch_done(&l);
	unlink(name);

	launch_fork(&l, SH(script), &before, -1, NULL, &e);
	pid_t pid = l.pid;
	launch_done(&l);
	tap_ok(!alive(pid) && access(name, F_OK) < 0,
	       "launch_done() before launch_exec(): it ends without running");
	launch_done(&l);

	launch_fork(&l, SH(script), &before, -1, NULL, &e);
	kill(l.pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)l.pid, &info, WEXITED | WNOWAIT);
	int code = launch_exec(&l, &e);
	tap_ok(code < 0 && e.what[0], "launch_exec() fails if it was killed while it waited");
	launch_reap(&l, true);
	launch_done(&l);
	tap_int(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

/* Looks at the command until it has ended. */
static void test_polling(void)
{
	struct launch l;
	struct realtime w;
	realtime_start(&w, true, REALTIME_LOOK_NS);
	realtime_raise(&w);
	bool is_raised = realtime_state(&w) == REALTIME_YES;
	launch_fork(&l, SH("exit 7"), &before, -1, NULL, &e);
	tap_ok(!launch_poll(&l, &w), "a command that waits has not ended");
	launch_exec(&l, &e);
	while (!launch_poll(&l, &w))
		usleep(1000);
	tap_int(launch_status(&l), 7, "its end is seen, with its status");
	tap_ok(launch_poll(&l, &w), "its end stays known");
	tap_ok((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) ==
		       (is_raised ? SCHED_FIFO : SCHED_OTHER),
	       "the thread has the priority that it had");
	tap_int(waitpid(-1, NULL, WNOHANG), -1, "it is reaped");
	launch_done(&l);
	realtime_lower(&w);
	realtime_stop(&w);
}

/* The command's signal mask, descriptors and arguments. */
static void test_surroundings(void)
{
	struct launch l;
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	tap_int(run(SH("kill -USR2 $$; exit 3"), &l), 128 + SIGUSR2,
		"the command has the given mask, not ours");
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	sigset_t with_usr1 = before;
	sigaddset(&with_usr1, SIGUSR1);
	launch_fork(&l, SH("kill -USR1 $$; exit 3"), &with_usr1, -1, NULL, &e);
	launch_exec(&l, &e);
	launch_reap(&l, true);
	tap_int(launch_status(&l), 3, "signals that were blocked stay blocked");
	launch_done(&l);
	tap_int(run(SH("for i in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$i ] && exit $i; done; exit 0"),
		    &l),
		0, "the command inherits none of our descriptors");
	char *args[] = { (char *)"sh", (char *)"-c", (char *)"[ \"$1\" = 'a b' ] && [ -z \"$2\" ]",
			 (char *)"x", (char *)"a b", (char *)"", NULL };
	tap_int(run(args, &l), 0, "the command gets its arguments unchanged");
}

int main(void)
{
	sigprocmask(SIG_BLOCK, NULL, &before);
	/* Descriptors that the harness left open would be inherited, and found below. */
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	test_status();
	test_failures();
	test_waiting();
	test_polling();
	test_surroundings();
	return tap_done();
}
