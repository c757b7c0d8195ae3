/*
 * The group is created below the command's own, and only if no controller is enabled for children:
 * then it has no other effect.  But a process may look up its limits by its cgroup's path, and not
 * find them in a child.  So a cgroup that has limits gets a child only on request.
 *
 * A group whose creator was killed is removed by the next run in the same cgroup.  It is recognised
 * by its name, its owner, a creator that no longer lives, and a lock that nobody holds: another pid
 * namespace has other ids.
 */
#include "proc/cgroup.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Groups of one process at the same time. */
#define GROUPS_MAX 99u

/* New processes may appear while the others are moved; ten rounds are plenty. */
#define ROUNDS 10

static int read_at(int dir, const char *name, char *buf, size_t n)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, buf, n - 1);
	if (got < 0)
		return -errno;
	buf[got] = '\0';
	return 0;
}

static int write_at(int dir, const char *name, const char *text)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Where cgroup2 is mounted, and which cgroup is its root: fields 5 and 4 of mountinfo; the type
 * follows " - ". */
static int find_mount(const struct host *h, char ret_point[256], char ret_root[256])
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_file(h, HOST_PROC, &text, NULL, "self/mountinfo");
	if (r < 0)
		return r;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *type = strstr(line, " - ");
		if (type && strncmp(type, " - cgroup2 ", 11) == 0 &&
		    sscanf(line, "%*s %*s %*s %255s %255s", ret_root, ret_point) == 2)
			return 0;
	}
	return -ENOENT;
}

/* One line of /proc/PID/cgroup: ID:CONTROLLERS:PATH. */
static bool has_perf_events(const char *line)
{
	const char *list = strchr(line, ':');
	const char *end = list ? strchr(list + 1, ':') : NULL;
	const char *found = list ? strstr(list, "perf_event") : NULL;
	return found && end && found < end;
}

/* *ret_path: the path in cgroup v2, a part of text. */
static int parse_membership(char *text, const char **ret_path)
{
	char *save = NULL;
	*ret_path = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (has_perf_events(line))
			return -EPROTONOSUPPORT;
		if (strncmp(line, "0::/", 4) == 0)
			*ret_path = line + 3;
	}
	return *ret_path ? 0 : -ENOENT;
}

/* The folder of pid's cgroup. */
static int open_parent(const struct host *h, pid_t pid)
{
	char point[256], root[256];
	const char *path;
	CLEANUP_FREE char *text = NULL;
	int r = find_mount(h, point, root);
	if (r < 0)
		return r;
	r = host_read_file(h, HOST_PROC, &text, NULL, "%d/cgroup", pid);
	if (r < 0)
		return r;
	r = parse_membership(text, &path);
	if (r < 0)
		return r;
	/* A part of the tree may be mounted, as in containers with the cgroup namespace of their
	 * host.  A path outside of the namespace begins with "/..". */
	size_t n_root = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, n_root) != 0 || (n_root && path[n_root] && path[n_root] != '/') ||
	    strstr(path, "/.."))
		return -ENOENT;
	return host_open_file(h, HOST_ROOT, O_RDONLY | O_DIRECTORY, "%s%s", point + 1,
			      path + n_root);
}

/* Are controllers enabled for the children of a group? */
static int check_controllers(int dir)
{
	char text[4096];
	int r = read_at(dir, "cgroup.subtree_control", text, sizeof(text));
	return r < 0 ? r : text[strspn(text, " \n")] ? -EBUSY : 0;
}

/* The limits that runtimes look up to choose the sizes of heaps and the number of threads.  The
 * root has no such files. */
static bool has_limits(int dir)
{
	static const char *const names[] = { "memory.max", "memory.high", "cpu.max" };
	char text[64];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (read_at(dir, names[i], text, sizeof(text)) == 0 &&
		    strncmp(text, "max", 3) != 0)
			return true;
	return false;
}

static int check_parent(int dir, bool ignore_limits)
{
	char type[64];
	int r = check_controllers(dir);
	if (r < 0)
		return r;
	/* The root has no type. */
	if (read_at(dir, "cgroup.type", type, sizeof(type)) == 0 && strcmp(type, "domain\n") != 0)
		return -EOPNOTSUPP;
	return !ignore_limits && has_limits(dir) ? -ERANGE : 0;
}

int cgroup_check(const struct host *h, pid_t pid, bool ignore_limits)
{
	CLEANUP_CLOSE int dir = open_parent(h, pid);
	int r = dir < 0 ? dir : check_parent(dir, ignore_limits);
	if (r < 0)
		return r;
	return faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ||
	       faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

const char *cgroup_why_not(int r)
{
	switch (-r) {
	case ENOENT: return "cgroup v2 is not mounted";
	case EBUSY: return "controllers are enabled for the children of this cgroup";
	case EOPNOTSUPP: return "this cgroup is threaded";
	case EPROTONOSUPPORT: return "perf events belong to cgroup v1 here";
	case ERANGE: return "this cgroup has limits, which programs look up by its path";
	case EROFS: return "cgroup v2 is mounted read-only";
	case EACCES:
	case EPERM: return "this user may not create a cgroup below this one";
	default: return strerror(-r);
	}
}

/* ---- groups ---------------------------------------------------------------------------- */

/* Field 22 of /proc/PID/stat; the name in field 2 can contain any character.  0: unknown. */
static unsigned long long parse_start(const char *stat)
{
	unsigned long long start;
	const char *p = strrchr(stat, ')');
	return p && sscanf(p + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			   "%*s %*s %*s %*s %llu", &start) == 1 ? start : 0;
}

/* 0: no process. */
static unsigned long long start_of(const struct host *h, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	return host_read_process_file(h, pid, "stat", &text, NULL) < 0 ? 0 : parse_start(text);
}

static unsigned long long own_start(const struct host *h)
{
	CLEANUP_FREE char *text = NULL;
	return host_read_file(h, HOST_PROC, &text, NULL, "self/stat") < 0 ? 0 : parse_start(text);
}

static bool parse_name(const char *name, int *ret_pid, unsigned long long *ret_start)
{
	unsigned number;
	int n = 0;
	return strspn(name, "cprof-0123456789") == strlen(name) &&
	       sscanf(name, "cprof-%d-%llu-%u%n", ret_pid, ret_start, &number, &n) == 3 &&
	       n && !name[n];
}

size_t cgroup_path_bytes(const char *path)
{
	size_t n = strlen(path);
	for (;;) {
		char name[64];
		int pid;
		unsigned long long start;
		size_t at = n;
		while (at && path[at - 1] != '/')
			at--;
		if (!at || n - at >= sizeof(name))
			return n;
		memcpy(name, path + at, n - at);
		name[n - at] = '\0';
		if (!parse_name(name, &pid, &start))
			return n;
		n = at > 1 ? at - 1 : 1;
	}
}

static void move_processes(int from, int to)
{
	for (int round = 0; round < ROUNDS; round++) {
		char text[65536], *save = NULL;
		if (read_at(from, "cgroup.procs", text, sizeof(text)) < 0 || !text[0])
			return;
		for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
			write_at(to, "cgroup.procs", p);
	}
}

static void remove_leftover(int parent, const struct host *h, const char *name)
{
	int pid;
	unsigned long long start;
	struct stat st;
	if (!parse_name(name, &pid, &start) || pid <= 0)
		return;
	if (start && start_of(h, (uint32_t)pid) == start)
		return;
	CLEANUP_CLOSE int dir = openat(parent, name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() ||
	    flock(dir, LOCK_EX | LOCK_NB) < 0)
		return;
	move_processes(dir, parent);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes the groups in a folder that killed runs have left. */
static void remove_leftovers(int parent, const struct host *h)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *entry; d && (entry = readdir(d));)
		remove_leftover(parent, h, entry->d_name);
	if (d)
		closedir(d);
}

static int make_folder(struct cgroup *g, const struct host *h)
{
	char name[sizeof(g->name)];
	unsigned long long start = own_start(h);
	int r = -EEXIST;
	for (unsigned i = 1; r == -EEXIST && i <= GROUPS_MAX; i++) {
		snprintf(name, sizeof(name), "cprof-%d-%llu-%u", (int)getpid(), start, i);
		r = mkdirat(g->parent_fd, name, 0755) < 0 ? -errno : 0;
	}
	if (r < 0)
		return r;
	/* From here on it is ours to remove. */
	memcpy(g->name, name, sizeof(name));
	g->fd = openat(g->parent_fd, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return g->fd < 0 || flock(g->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

int cgroup_create(struct cgroup *g, const struct host *h, pid_t pid, bool ignore_limits)
{
	*g = (struct cgroup){ .fd = -1, .parent_fd = open_parent(h, pid) };
	if (g->parent_fd < 0) {
		int r = g->parent_fd;
		g->parent_fd = -1;
		return r;
	}
	int r = check_parent(g->parent_fd, ignore_limits);
	if (r == 0) {
		remove_leftovers(g->parent_fd, h);
		r = make_folder(g, h);
	}
	if (r < 0)
		cgroup_remove(g, h);
	return r;
}

static int move_into(const struct cgroup *g, pid_t pid)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", (int)pid);
	return write_at(g->fd, "cgroup.procs", text);
}

int cgroup_make(struct cgroup *g, const struct host *h, pid_t pid, struct err *e)
{
	int r = cgroup_create(g, h, pid, true);
	if (r == 0)
		r = move_into(g, pid);
	if (r == 0)
		return 0;
	cgroup_remove(g, h);
	if (r == -EBUSY) {
		err_set(e, EBUSY, "cannot create a cgroup for the command: controllers are enabled "
			"there, and would change how it runs");
		err_hint(e, "use --scope cpu or --scope task");
		return r;
	}
	if (r == -EPROTONOSUPPORT || r == -EOPNOTSUPP)
		err_set(e, -r, "cannot create a cgroup for the command: %s", cgroup_why_not(r));
	else
		err_errno(e, -r, "cannot create a cgroup for the command");
	err_hint(e, r == -ENOENT ? "cgroup v2 is not mounted: use --scope cpu or --scope task"
				    : "this needs write access to the cgroup v2 directory of this "
				      "process: use --scope cpu or --scope task");
	return r;
}

bool cgroup_has(const struct cgroup *g, pid_t pid)
{
	char text[65536], *save = NULL;
	if (g->fd < 0 || read_at(g->fd, "cgroup.procs", text, sizeof(text)) < 0)
		return false;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		if (atoi(p) == pid)
			return true;
	return false;
}

int cgroup_cpu_ns(const struct cgroup *g, uint64_t *ret_ns)
{
	char text[4096];
	unsigned long long usec;
	int r = read_at(g->fd, "cpu.stat", text, sizeof(text));
	if (r < 0)
		return r;
	if (sscanf(text, "usage_usec %llu", &usec) != 1)
		return -EINVAL;
	*ret_ns = usec * 1000u;
	return 0;
}

void cgroup_remove(struct cgroup *g, const struct host *h)
{
	if (g->fd >= 0) {
		remove_leftovers(g->fd, h);
		move_processes(g->fd, g->parent_fd);
		close(g->fd);
	}
	if (g->parent_fd >= 0) {
		if (g->name[0])
			unlinkat(g->parent_fd, g->name, AT_REMOVEDIR);
		close(g->parent_fd);
	}
	*g = (struct cgroup){ .fd = -1, .parent_fd = -1 };
}
