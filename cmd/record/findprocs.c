/* A process may end or start meanwhile: the list is as exact as that of pgrep. */
#include "cmd/record/findprocs.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KTHREADD 2  /* parent of all kernel threads */
#define STATUS_BYTES 512

/* The first line is "Name:\tTEXT", in which the kernel escapes newlines and backslashes. */
static void take_name(const char *status, struct findprocs_process *ret)
{
	const char *p = strchr(status, '\t');
	size_t n = 0;
	for (p = p ? p + 1 : ""; *p && *p != '\n' && n < sizeof(ret->comm) - 1; p++) {
		bool is_escaped = *p == '\\' && p[1];
		p += is_escaped;
		ret->comm[n++] = is_escaped && *p == 'n' ? '\n' : *p;
	}
	ret->comm[n] = '\0';
}

/* *ret_text: the begin of a file by which no process can hold back its readers; see
 * base/remotemem.h. */
static bool read_status(const struct host *h, pid_t pid, char ret_text[STATUS_BYTES],
			struct stat *ret_st)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "%d/status", (int)pid);
	ssize_t n = fd < 0 ? -1 : read(fd, ret_text, STATUS_BYTES - 1);
	if (n <= 0 || fstat(fd, ret_st) < 0)
		return false;
	ret_text[n] = '\0';
	return true;
}

static bool read_process(const struct host *h, pid_t pid, struct findprocs_process *ret)
{
	char text[STATUS_BYTES];
	struct stat st;
	if (!read_status(h, pid, text, &st))
		return false;
	const char *line = strstr(text, "\nPPid:");
	int parent;
	if (!line || sscanf(line, "\nPPid: %d", &parent) != 1)
		return false;
	*ret = (struct findprocs_process){ .pid = pid, .parent = parent, .uid = st.st_uid };
	take_name(text, ret);
	return pid != KTHREADD && parent != KTHREADD;
}

int findprocs_read(struct findprocs *f, const struct host *host, struct err *e)
{
	*f = (struct findprocs){ .host = host };
	int fd = host_open_file(host, HOST_PROC, O_RDONLY | O_DIRECTORY, ".");
	if (fd < 0)
		return err_errno(e, -fd, "cannot open /proc");
	DIR *d = fdopendir(fd);
	if (!d) {
		int r = err_errno(e, errno, "cannot read /proc");
		close(fd);
		return r;
	}
	int r = 0;
	for (struct dirent *entry; r == 0 && (entry = readdir(d));) {
		struct findprocs_process p;
		long pid = strtol(entry->d_name, NULL, 10);
		if (pid > 0 && pid <= INT_MAX && read_process(host, (pid_t)pid, &p) &&
		    !VEC_PUSH(&f->processes, p))
			r = err_errno(e, ENOMEM, "cannot list the processes");
	}
	closedir(d);
	return r;
}

void findprocs_done(struct findprocs *f)
{
	VEC_FREE(&f->processes);
}

/* The name may be longer than the kernel's, or that of the executable. */
static bool is_named(const struct findprocs *f, const struct findprocs_process *p, const char *name)
{
	char target[PATH_MAX];
	if (strcmp(p->comm, name) == 0)
		return true;
	if (host_read_process_link(f->host, (uint32_t)p->pid, "exe", target, sizeof(target)) <= 0)
		return strlen(name) >= sizeof(p->comm) &&
			strncmp(p->comm, name, sizeof(p->comm) - 1) == 0;
	const char *slash = strrchr(target, '/');
	return slash && strcmp(slash + 1, name) == 0;
}

static bool contains(const struct findprocs_ids *ids, pid_t pid)
{
	for (size_t i = 0; i < ids->pids.n; i++)
		if (ids->pids.v[i] == pid)
			return true;
	return false;
}

bool findprocs_add_named(const struct findprocs *f, const char *name, pid_t self, uid_t uid,
			 struct findprocs_ids *ids)
{
	bool is_own_only = false;
	for (size_t i = 0; uid && i < f->processes.n && !is_own_only; i++)
		is_own_only = f->processes.v[i].uid == uid && f->processes.v[i].pid != self &&
			      is_named(f, &f->processes.v[i], name);
	for (size_t i = 0; i < f->processes.n; i++) {
		const struct findprocs_process *p = &f->processes.v[i];
		if (p->pid == self || (is_own_only && p->uid != uid) || !is_named(f, p, name) ||
		    contains(ids, p->pid) || findprocs_has_ended(f->host, p->pid))
			continue;
		if (!VEC_PUSH(&ids->pids, p->pid))
			return false;
	}
	return true;
}

bool findprocs_add_children(const struct findprocs *f, struct findprocs_ids *ids)
{
	for (size_t k = 0; k < ids->pids.n; k++)
		for (size_t i = 0; i < f->processes.n; i++) {
			const struct findprocs_process *p = &f->processes.v[i];
			if (p->parent == ids->pids.v[k] && !contains(ids, p->pid) &&
			    !findprocs_has_ended(f->host, p->pid) &&
			    !VEC_PUSH(&ids->pids, p->pid))
				return false;
		}
	return true;
}

bool findprocs_has_ended(const struct host *h, pid_t pid)
{
	char text[STATUS_BYTES];
	struct stat st;
	if (!read_status(h, pid, text, &st))
		return true;
	const char *line = strstr(text, "\nState:\t");
	char state = line ? line[strlen("\nState:\t")] : '\0';
	/* A main thread that has ended is a zombie while other threads go on. */
	return (state == 'Z' || state == 'X') &&
	       host_live_thread(h, (uint32_t)pid) == (uint32_t)pid;
}

bool findprocs_drop_ended(const struct host *h, struct findprocs_ids *ids,
			  struct findprocs_ids *ret_ended)
{
	size_t n = 0;
	for (size_t i = 0; i < ids->pids.n; i++)
		if (!findprocs_has_ended(h, ids->pids.v[i]))
			n++;
		else if (!VEC_PUSH(&ret_ended->pids, ids->pids.v[i]))
			return false;
	if (n == 0) {
		ret_ended->pids.n = 0;
		return true;
	}
	n = 0;
	for (size_t i = 0; i < ids->pids.n; i++)
		if (!contains(ret_ended, ids->pids.v[i]))
			ids->pids.v[n++] = ids->pids.v[i];
	ids->pids.n = n;
	return true;
}
