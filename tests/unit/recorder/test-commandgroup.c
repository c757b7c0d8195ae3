#include "cprof.h"
#include "recorder/commandgroup.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_without(void)
{
	const char *why = "?";
	struct cprof_cgroup none = { .group = { .fd = -1, .parent_fd = -1 },
				     .why_not = "a reason" };
	tap_ok(!commandgroup_of(NULL, 1, &why) && !why, "nobody asked for a group: no reason");
	tap_ok(!commandgroup_of(&none, 1, &why), "there is no group");
	tap_str(why, "a reason", "  the reason");
	tap_int(cprof_cgroup_fd(NULL), -1, "no group has no descriptor");
	tap_int(cprof_cgroup_fd(&none), -1, "  nor has one that could not be created");
	cprof_cgroup_free(NULL);
}

static void test_with(void)
{
	const char *why = NULL;
	struct cprof_cgroup *g = cprof_cgroup_new(CPROF_SCOPE_CGROUP);
	tap_ok(g && (cprof_cgroup_fd(g) >= 0) == !g->why_not, "a group, or a reason why not");
	if (cprof_cgroup_fd(g) < 0) {
		tap_skip("a group for a child", g->why_not);
		cprof_cgroup_free(g);
		return;
	}
	int parent = dup(g->group.parent_fd);
	char name[sizeof(g->group.name)], text[16];
	memcpy(name, g->group.name, sizeof(name));
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	tap_ok(!commandgroup_of(g, pid, &why), "a child that was not started in it");
	tap_ok(why && strstr(why, "could not be started"), "  the reason");
	int procs = openat(cprof_cgroup_fd(g), "cgroup.procs", O_WRONLY);
	int n = snprintf(text, sizeof(text), "%d", (int)pid);
	tap_ok(procs >= 0 && write(procs, text, (size_t)n) == n, "the child is moved into it");
	close(procs);
	tap_ok(commandgroup_of(g, pid, &why) == &g->group && !why, "then it is the child's group");
	cprof_cgroup_free(g);
	tap_ok(faccessat(parent, name, F_OK, 0) < 0 && errno == ENOENT,
	       "a group is removed although a process runs in it");
	tap_ok(kill(pid, 0) == 0, "  and the process continues");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(parent);
}

int main(void)
{
	test_without();
	test_with();
	return tap_done();
}
