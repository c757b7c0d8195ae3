#include "base/err.h"
#include "proc/cgroup.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static struct err e;

static bool there(const struct machine *m, const char *path)
{
	char full[PATH_MAX];
	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	return access(full, F_OK) == 0;
}

static void test_folder(void)
{
	struct machine m;
	struct cgroup g;
	machine_open(&m);
	machine_file(&m, "proc/50/cgroup", "0::/here\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -ENOENT, "no list of mounts");
	machine_file(&m, "proc/self/mountinfo", "25 1 8:1 / / rw shared:1 - ext4 /dev/sda rw\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -ENOENT, "no cgroup2 is mounted");
	tap_ok(e.what[0] && strstr(e.hint, "--scope") && g.fd == -1 && g.parent_fd == -1,
	       "is reported, with a remedy, and nothing is open");
	cgroup_remove(&g);
	machine_file(&m, "proc/self/mountinfo",
		     "25 1 8:1 / / rw shared:1 - ext4 /dev/sda rw\n"
		     "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	machine_file(&m, "sys/fs/cgroup/here/cgroup.subtree_control", "cpu memory\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -EBUSY, "controllers would act on it");
	tap_ok(strstr(e.what, "controllers") && !there(&m, "sys/fs/cgroup/here/cprof-50"),
	       "is reported, and no cgroup is created");
	machine_file(&m, "sys/fs/cgroup/here/cgroup.subtree_control", "\n");
	tap_ok(cgroup_make(&g, &m.host, 50, &e) < 0, "the process cannot be moved");
	tap_ok(!there(&m, "sys/fs/cgroup/here/cprof-50"), "then the group is removed again");
	machine_file(&m, "sys/fs/cgroup/here/cprof-50/x", "");
	machine_file(&m, "sys/fs/cgroup/here/cprof-50/x", NULL);
	tap_int(cgroup_make(&g, &m.host, 50, &e), -EEXIST, "there is a group of that name");
	tap_ok(there(&m, "sys/fs/cgroup/here/cprof-50"), "which is not ours to remove");
	machine_file(&m, "proc/50/cgroup", "12:cpu:/a\n1:name=systemd:/b\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -ENOENT, "a process that is in no cgroup2");
	tap_int(cgroup_make(&g, &m.host, 51, &e), -ENOENT, "a process that does not exist");
	machine_close(&m);
}

static bool is_in(pid_t pid, const char *name)
{
	char path[64], text[4096] = "";
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return strstr(text, name) != NULL;
}

static void test_this_machine(void)
{
	struct host h;
	struct cgroup g;
	int go[2];
	char byte;
	if (host_open(&h, NULL, NULL, NULL, &e) < 0 || pipe(go) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			for (volatile long i = 0; i < 100000000; i++)
				;
		pause();
		_exit(0);
	}
	close(go[0]);
	if (cgroup_make(&g, &h, pid, &e) < 0) {
		tap_skip("a cgroup for a child", e.what);
	} else {
		char name[64];
		uint64_t before = 0, after = 0;
		snprintf(name, sizeof(name), "/%s", g.name);
		tap_ok(is_in(pid, name), "a child is moved into a group of its own");
		tap_ok(!is_in(getpid(), name), "and no other process");
		tap_int(cgroup_cpu_ns(&g, &before), 0, "its CPU time");
		if (write(go[1], "", 1) != 1)
			exit(1);
		for (int i = 0; i < 300 && after < before + 20000000; i++) {
			usleep(10000);
			cgroup_cpu_ns(&g, &after);
		}
		tap_ok(after >= before + 20000000, "grows when it works");
		struct cgroup again;
		tap_ok(cgroup_make(&again, &h, pid, &e) == 0 && strcmp(again.name, g.name) == 0 &&
		       is_in(pid, name), "cgroups can be created within cgroups");
		cgroup_remove(&again);
		tap_ok(is_in(pid, name), "and removed");
		int parent = dup(g.parent_fd);
		snprintf(name, sizeof(name), "%s", g.name);
		cgroup_remove(&g);
		tap_ok(faccessat(parent, name, F_OK, 0) < 0, "the group is gone");
		tap_ok(!is_in(pid, name), "and the child is back where it was");
		close(parent);
		cgroup_remove(&g);
		tap_ok(g.fd == -1, "removing twice does no harm");
	}
	close(go[1]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	host_close(&h);
}

int main(void)
{
	test_folder();
	test_this_machine();
	return tap_done();
}
