/*
 * /tmp is opened below /proc/PID/root with RESOLVE_IN_ROOT, so that a container's symbolic link
 * stays inside it.  The descriptor is kept: with it the map can still be opened when the process
 * has ended and its namespaces are gone.  The checks look at the open file, never at a name.
 */

#include "proc/jitfile.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file's time comes from the kernel's coarse clock, and the start of a process is rounded. */
#define STALE_SLACK_NS 2000000000

static int open_tmp(const struct host *h, uint32_t pid)
{
	CLEANUP_CLOSE int root =
		host_open_process_link(h, host_live_thread(h, pid), "root");
	if (root < 0)
		return root;
	const struct foreign_want want = { .dir_fd = root, .path = "tmp",
					   .flags = FOREIGN_IN_ROOT, .pid = pid };
	return foreign_open_folder(h->foreign, &want);
}

/* The last number on the line that begins with key. */
static bool last_number(const char *status, const char *key, unsigned long *ret)
{
	const char *p = strstr(status, key);
	if (!p)
		return false;
	p += strlen(key);
	const char *end = strchrnul(p, '\n');
	bool any = false;
	while (p < end) {
		char *after;
		unsigned long value = strtoul(p, &after, 10);
		if (after == p || after > end)
			break;
		*ret = value;
		any = true;
		p = after;
	}
	return any;
}

/* CLOCK_REALTIME of the start of the process; 0 if unknown. */
static int64_t start_time(const struct host *h, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	unsigned long long ticks;
	if (host_read_process_file(h, pid, "stat", &text, NULL) < 0)
		return 0;
	const char *p = strrchr(text, ')');
	/* Fields 3 to 22. */
	if (!p || sscanf(p + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %llu", &ticks) != 1)
		return 0;
	long hz = sysconf(_SC_CLK_TCK);
	if (hz <= 0)
		return 0;
	return (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME) +
			 ticks * (CLOCK_SECOND_NS / (unsigned long long)hz));
}

int jitfile_process_init(struct jitfile_process *p, const struct host *h, uint32_t pid)
{
	CLEANUP_FREE char *status = NULL;
	int r = host_read_file(h, HOST_PROC, &status, NULL, "%u/status", pid);
	if (r < 0)
		return r;
	struct jitfile_process tmp = { .tmp_fd = -1 };
	unsigned long ns_pid = pid;
	unsigned uid, euid;
	const char *ids = strstr(status, "\nUid:");
	if (!ids || sscanf(ids + 5, "%u %u", &uid, &euid) != 2)
		return -EINVAL;
	last_number(status, "\nNSpid:", &ns_pid);
	tmp.pid = pid;
	tmp.foreign = h->foreign;
	tmp.uid = uid;
	tmp.euid = euid;
	tmp.ns_pid = (uint32_t)ns_pid;
	tmp.start_realtime_ns = start_time(h, pid);
	int fd = open_tmp(h, pid);
	if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP && fd != -EREMOTE)
		return fd;
	tmp.is_remote = fd == -EREMOTE;
	tmp.tmp_fd = fd < 0 ? -1 : fd;
	*p = tmp;
	return 0;
}

void jitfile_process_done(struct jitfile_process *p)
{
	if (p->tmp_fd >= 0)
		close(p->tmp_fd);
	p->tmp_fd = -1;
}

enum jitfile_outcome jitfile_check(const struct jitfile_process *p, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return JITFILE_NOT_REGULAR;
	if (st->st_uid != p->uid && st->st_uid != p->euid)
		return JITFILE_NOT_OWNED;
	int64_t changed = st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
	if (p->start_realtime_ns && changed < p->start_realtime_ns - STALE_SLACK_NS)
		return JITFILE_STALE;
	return JITFILE_OPENED;
}

static void map_name(const struct jitfile_process *p, char name[32])
{
	snprintf(name, 32, "perf-%u.map", p->ns_pid);
}

enum jitfile_outcome jitfile_open_map(const struct jitfile_process *p, int *ret_fd)
{
	char name[32];
	struct stat st;
	map_name(p, name);
	if (p->tmp_fd < 0)
		return p->is_remote ? JITFILE_REMOTE : JITFILE_ABSENT;
	const struct foreign_want want = { .dir_fd = p->tmp_fd, .path = name,
					   .flags = FOREIGN_NO_FOLLOW | FOREIGN_NO_COPY,
					   .pid = p->pid };
	CLEANUP_CLOSE int fd = foreign_open(p->foreign, &want, &st);
	if (fd < 0)
		return fd == -ENOENT ? JITFILE_ABSENT
		       : fd == -ELOOP ? JITFILE_LINK
		       : fd == -ENXIO ? JITFILE_NOT_REGULAR
		       : foreign_lacks_descriptor(fd) ? JITFILE_NO_DESCRIPTOR
		       : foreign_is_lost(fd) ? JITFILE_REMOTE : JITFILE_UNREADABLE;
	enum jitfile_outcome o = jitfile_check(p, &st);
	if (o == JITFILE_OPENED)
		*ret_fd = TAKE_FD(fd);
	return o;
}

bool jitfile_is_replaced(const struct jitfile_process *p, int fd)
{
	char name[32];
	uint64_t device, inode, open_device, open_inode;
	const struct foreign_want now = { .dir_fd = p->tmp_fd, .path = name };
	const struct foreign_want open = { .dir_fd = fd, .path = "" };
	map_name(p, name);
	return p->tmp_fd >= 0 && foreign_identify(&now, &device, &inode) == 0 &&
	       foreign_identify(&open, &open_device, &open_inode) == 0 &&
	       (inode != open_inode || device != open_device);
}

const char *jitfile_why(enum jitfile_outcome o)
{
	switch (o) {
	case JITFILE_LINK: return "is a symbolic link";
	case JITFILE_NOT_REGULAR: return "is not a regular file";
	case JITFILE_NOT_OWNED: return "belongs to another user";
	case JITFILE_STALE: return "is older than the process";
	case JITFILE_UNREADABLE: return "cannot be read";
	case JITFILE_REMOTE: return "is on a file system that may keep its readers waiting";
	case JITFILE_TOO_LARGE: return "is too large";
	case JITFILE_NO_DESCRIPTOR: return "was not opened for lack of descriptors (ulimit -n)";
	case JITFILE_OPENED:
	case JITFILE_ABSENT: break;
	}
	return NULL;
}
