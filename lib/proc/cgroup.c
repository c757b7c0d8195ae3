/*
 * The group is created below the command's own, and only if no controller is enabled for children:
 * then it has no other effect.  (A process may look up its limits by its cgroup's
 * path, and not find them in a child: so this is never done unless requested.)
 */
#include "proc/cgroup.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Where cgroup2 is mounted, from mountinfo: field 5 is the mount point, the type follows " - ". */
static int find_mount(const struct host *h, char *ret_path, size_t n)
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_file(h, HOST_PROC, &text, NULL, "self/mountinfo");
	if (r < 0)
		return r;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char point[256];
		const char *type = strstr(line, " - ");
		if (!type || strncmp(type, " - cgroup2 ", 11) != 0)
			continue;
		if (sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 || strlen(point) >= n)
			continue;
		strcpy(ret_path, point);
		return 0;
	}
	return -ENOENT;
}

/* The folder of pid's cgroup: the "0::" line of /proc/PID/cgroup. */
static int open_parent(const struct host *h, pid_t pid)
{
	char mount[256];
	CLEANUP_FREE char *text = NULL;
	int r = find_mount(h, mount, sizeof(mount));
	if (r < 0)
		return r;
	r = host_read_file(h, HOST_PROC, &text, NULL, "%d/cgroup", pid);
	if (r < 0)
		return r;
	char *line = strstr(text, "0::/");
	if (!line || (line != text && line[-1] != '\n'))
		return -ENOENT;
	line[strcspn(line, "\n")] = '\0';
	return host_open_file(h, HOST_ROOT, O_RDONLY | O_DIRECTORY, "%s%s", mount + 1, line + 3);
}

/* Are controllers enabled for the children of a group? */
static int has_controllers(int dir)
{
	char text[4096];
	int r = read_at(dir, "cgroup.subtree_control", text, sizeof(text));
	return r < 0 ? r : text[strspn(text, " \n")] ? -EBUSY : 0;
}

int cgroup_check(const struct host *h, pid_t pid)
{
	CLEANUP_CLOSE int dir = open_parent(h, pid);
	int r = dir < 0 ? dir : has_controllers(dir);
	if (r < 0)
		return r;
	return faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ||
	       faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int make(struct cgroup *g, const struct host *h, pid_t pid)
{
	char text[4096];
	g->parent_fd = open_parent(h, pid);
	if (g->parent_fd < 0)
		return g->parent_fd;
	int r = has_controllers(g->parent_fd);
	if (r < 0)
		return r;
	char name[sizeof(g->name)];
	snprintf(name, sizeof(name), "cprof-%d", pid);
	if (mkdirat(g->parent_fd, name, 0755) < 0)
		return -errno;
	/* From here on it is ours to remove. */
	memcpy(g->name, name, sizeof(name));
	g->fd = openat(g->parent_fd, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->fd < 0)
		return -errno;
	snprintf(text, sizeof(text), "%d", pid);
	return write_at(g->fd, "cgroup.procs", text);
}

int cgroup_make(struct cgroup *g, const struct host *h, pid_t pid, struct err *e)
{
	*g = (struct cgroup){ .fd = -1, .parent_fd = -1 };
	int r = make(g, h, pid);
	if (r == 0)
		return 0;
	cgroup_remove(g);
	if (r == -EBUSY) {
		err_set(e, EBUSY, "cannot create a cgroup for the command: controllers are enabled "
			"there, and would change how it runs");
		err_hint(e, "use --scope cpu or --scope task");
		return r;
	}
	err_errno(e, -r, "cannot create a cgroup for the command");
	err_hint(e, r == -ENOENT ? "cgroup v2 is not mounted: use --scope cpu or --scope task"
				    : "this needs write access to the cgroup v2 folder of this "
				      "process: use --scope cpu or --scope task");
	return r;
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

void cgroup_remove(struct cgroup *g)
{
	if (g->fd >= 0) {
		/* New processes may appear while the others are moved; ten rounds are plenty. */
		for (int round = 0; round < 10; round++) {
			char text[65536], *save = NULL;
			if (read_at(g->fd, "cgroup.procs", text, sizeof(text)) < 0 || !text[0])
				break;
			for (char *p = strtok_r(text, "\n", &save); p;
			     p = strtok_r(NULL, "\n", &save))
				write_at(g->parent_fd, "cgroup.procs", p);
		}
		close(g->fd);
	}
	if (g->parent_fd >= 0) {
		if (g->name[0])
			unlinkat(g->parent_fd, g->name, AT_REMOVEDIR);
		close(g->parent_fd);
	}
	*g = (struct cgroup){ .fd = -1, .parent_fd = -1 };
}
