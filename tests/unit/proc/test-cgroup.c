#include "base/err.h"
#include "proc/cgroup.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

static struct err e;

/* Groups of cprof in /here. */
static int n_groups(const struct machine *m)
{
	char full[PATH_MAX];
	int n = 0;
	snprintf(full, sizeof(full), "%s/sys/fs/cgroup/here", m->dir);
	DIR *d = opendir(full);
	for (struct dirent *entry; d && (entry = readdir(d));)
		n += strncmp(entry->d_name, "cprof-", 6) == 0;
	if (d)
		closedir(d);
	return n;
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
	cgroup_remove(&g, &m.host);
	machine_file(&m, "proc/self/mountinfo",
		     "25 1 8:1 / / rw shared:1 - ext4 /dev/sda rw\n"
		     "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	machine_file(&m, "sys/fs/cgroup/here/cgroup.subtree_control", "cpu memory\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -EBUSY, "controllers would act on it");
	tap_ok(strstr(e.what, "controllers") && n_groups(&m) == 0,
	       "is reported, and no cgroup is created");
	machine_file(&m, "sys/fs/cgroup/here/cgroup.subtree_control", "\n");
	tap_ok(cgroup_make(&g, &m.host, 50, &e) < 0, "the process cannot be moved");
	tap_int(n_groups(&m), 0, "then the group is removed again");
	machine_file(&m, "proc/50/cgroup", "12:cpu:/a\n1:name=systemd:/b\n");
	tap_int(cgroup_make(&g, &m.host, 50, &e), -ENOENT, "a process that is in no cgroup2");
	tap_int(cgroup_make(&g, &m.host, 51, &e), -ENOENT, "a process that does not exist");
	machine_close(&m);
}

static const char mounts[] = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
#define HERE "sys/fs/cgroup/here/"

/* Where a group may be created, and where not. */
static void test_places(void)
{
	struct machine m;
	machine_open(&m);
	machine_file(&m, "proc/self/mountinfo", mounts);
	machine_file(&m, "proc/50/cgroup", "1:name=systemd:/b\n0::/here\n");
	machine_file(&m, HERE "cgroup.subtree_control", "\n");
	machine_file(&m, HERE "cgroup.procs", "50\n");
	tap_int(cgroup_check(&m.host, 50, false), 0, "a cgroup without limits");
	machine_file(&m, HERE "memory.max", "max\n");
	machine_file(&m, HERE "cpu.max", "max 100000\n");
	tap_int(cgroup_check(&m.host, 50, false), 0, "  that could have some");
	machine_file(&m, HERE "cpu.max", "50000 100000\n");
	tap_int(cgroup_check(&m.host, 50, false), -ERANGE, "a limit of CPU time");
	tap_int(cgroup_check(&m.host, 50, true), 0, "  on request");
	machine_file(&m, HERE "cpu.max", NULL);
	machine_file(&m, HERE "memory.max", "536870912\n");
	tap_int(cgroup_check(&m.host, 50, false), -ERANGE, "a limit of memory");
	machine_file(&m, HERE "memory.max", NULL);
	machine_file(&m, HERE "cgroup.type", "threaded\n");
	tap_int(cgroup_check(&m.host, 50, false), -EOPNOTSUPP, "a threaded cgroup");
	machine_file(&m, HERE "cgroup.type", "domain\n");
	tap_int(cgroup_check(&m.host, 50, false), 0, "a domain");
	machine_file(&m, "proc/50/cgroup", "3:cpu,perf_event:/x\n0::/here\n");
	tap_int(cgroup_check(&m.host, 50, false), -EPROTONOSUPPORT, "perf events in cgroup v1");
	machine_file(&m, "proc/50/cgroup", "3:cpu:/perf_event\n0::/here\n");
	tap_int(cgroup_check(&m.host, 50, false), 0, "  but not a cgroup of that name");
	machine_file(&m, "proc/50/cgroup", "0::/../here\n");
	tap_int(cgroup_check(&m.host, 50, false), -ENOENT, "outside of the cgroup namespace");
	machine_file(&m, "proc/self/mountinfo",
		     "30 25 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	machine_file(&m, "proc/50/cgroup", "0::/docker/abc/here\n");
	tap_int(cgroup_check(&m.host, 50, false), 0, "a part of the tree is mounted");
	machine_file(&m, "proc/50/cgroup", "0::/docker/abcd/here\n");
	tap_int(cgroup_check(&m.host, 50, false), -ENOENT, "  and another one is not");
	machine_close(&m);
}

static void add_group(const struct machine *m, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/" HERE "%s", m->dir, name);
	if (mkdir(path, 0755) < 0)
		exit(1);
}

static bool has_group(const struct machine *m, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/" HERE "%s", m->dir, name);
	return access(path, F_OK) == 0;
}

/* What killed runs have left is removed, and nothing else. */
static void test_leftovers(void)
{
	struct machine m;
	struct cgroup g;
	char path[PATH_MAX];
	machine_open(&m);
	machine_file(&m, "proc/self/mountinfo", mounts);
	machine_file(&m, "proc/50/cgroup", "0::/here\n");
	machine_file(&m, HERE "cgroup.subtree_control", "\n");
	machine_file(&m, HERE "cgroup.procs", "50\n");
	machine_file(&m, "proc/60/stat",
		     "60 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n");
	add_group(&m, "cprof-60-777-1");
	add_group(&m, "cprof-60-778-1");
	add_group(&m, "cprof-61-5-2");
	add_group(&m, "cprof-62-5-1");
	add_group(&m, "cprof-62-5-1x");
	add_group(&m, "cprof-62");
	add_group(&m, "other");
	snprintf(path, sizeof(path), "%s/" HERE "cprof-62-5-1", m.dir);
	int locked = open(path, O_RDONLY | O_DIRECTORY);
	if (locked < 0 || flock(locked, LOCK_EX) < 0)
		exit(1);
	tap_int(cgroup_create(&g, &m.host, 50, false), 0, "a group is created");
	tap_ok(has_group(&m, g.name), "  below the present one");
	tap_ok(has_group(&m, "cprof-60-777-1"), "a group whose creator lives stays");
	tap_ok(!has_group(&m, "cprof-60-778-1"), "one whose creator's id was reused is removed");
	tap_ok(!has_group(&m, "cprof-61-5-2"), "one whose creator has ended, too");
	tap_ok(has_group(&m, "cprof-62-5-1"), "one that is locked stays: another pid namespace");
	tap_ok(has_group(&m, "cprof-62-5-1x") && has_group(&m, "cprof-62") &&
	       has_group(&m, "other"), "other names stay");
	close(locked);
	struct cgroup second;
	tap_int(cgroup_create(&second, &m.host, 50, false), 0, "a second group is created");
	tap_ok(has_group(&m, g.name) && strcmp(g.name, second.name) != 0, "  beside the first");
	tap_ok(!has_group(&m, "cprof-62-5-1"), "  and what is no longer locked is removed");
	cgroup_remove(&second, &m.host);
	cgroup_remove(&g, &m.host);
	tap_int(n_groups(&m), 3, "both are removed");
	machine_close(&m);
}

static void test_paths(void)
{
	static const struct { const char *path; size_t n; } t[] = {
		{ "/", 1 }, { "/a/b", 4 }, { "/cprof-1-2-3", 1 }, { "/a/cprof-1-2-3", 2 },
		{ "/a/cprof-1-2-3/cprof-4-5-6", 2 }, { "/a/cprof-1-2-3/b", 16 },
		{ "/a/cprof-x", 10 }, { "/a/cprof-1-2-3x", 15 }, { "", 0 },
	};
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		tap_int(cgroup_path_bytes(t[i].path), (int)t[i].n, t[i].path);
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
		char name[80];
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
		tap_ok(cgroup_make(&again, &h, pid, &e) == 0 && is_in(pid, name) &&
		       cgroup_has(&again, pid) && !cgroup_has(&g, pid),
		       "cgroups can be created within cgroups");
		cgroup_remove(&again, &h);
		tap_ok(is_in(pid, name), "and removed");
		int parent = dup(g.parent_fd);
		snprintf(name, sizeof(name), "%s", g.name);
		cgroup_remove(&g, &h);
		tap_ok(faccessat(parent, name, F_OK, 0) < 0, "the group is gone");
		tap_ok(!is_in(pid, name), "and the child is back where it was");
		close(parent);
		cgroup_remove(&g, &h);
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
	test_places();
	test_leftovers();
	test_paths();
	test_this_machine();
	return tap_done();
}
