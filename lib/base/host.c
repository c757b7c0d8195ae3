/* All access is openat(2) on three folders that stay open; a test passes temporary folders. */
#include "base/host.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/foreign.h"
#include "base/remotemem.h"
#include "base/rights.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int host_open(struct host *h, const char *root, const char *proc, const char *sys,
	      struct err *e)
{
	const char *name[HOST_N_DIRS] = {
		[HOST_ROOT] = root ? root : "/",
		[HOST_PROC] = proc ? proc : "/proc",
		[HOST_SYS] = sys ? sys : "/sys",
	};
	struct host tmp = { .fd = { -1, -1, -1 } };
	for (int i = 0; i < HOST_N_DIRS; i++) {
		snprintf(tmp.path[i], sizeof(tmp.path[i]), "%s", name[i]);
		tmp.fd[i] = open(name[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (tmp.fd[i] < 0 && i != HOST_SYS) {
			int r = err_errno(e, errno, "cannot open '%s'", name[i]);
			err_hint_files(e, -r);
			host_close(&tmp);
			return r;
		}
	}
	tmp.foreign = foreign_new();
	tmp.memory = remotemem_new(tmp.fd[HOST_PROC]);
	*h = tmp;
	return 0;
}

void host_close(struct host *h)
{
	remotemem_free(h->memory);
	h->memory = NULL;
	for (int i = 0; i < HOST_N_DIRS; i++) {
		if (h->fd[i] >= 0)
			close(h->fd[i]);
		h->fd[i] = -1;
	}
	foreign_free(h->foreign);
	h->foreign = NULL;
}

/* cprof chooses all names below /proc itself, so rights of the program's file may open them. */
static bool raise_for(enum host_dir dir)
{
	return dir == HOST_PROC && rights_raise();
}

static int open_file(const struct host *h, enum host_dir dir, int flags, const char *fmt,
		     va_list ap)
{
	char path[4096];
	int n = vsnprintf(path, sizeof(path), fmt, ap);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	if (h->fd[dir] < 0)
		return -ENOENT;
	int fd = openat(h->fd[dir], path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *host_cache_dir(const struct host *h, const char *dir)
{
	return dir && foreign_check_folder(h->foreign, dir) == 0 ? dir : NULL;
}

int host_open_file(const struct host *h, enum host_dir dir, int flags, const char *fmt, ...)
{
	CLEANUP_RIGHTS bool raised = raise_for(dir);
	va_list ap;
	va_start(ap, fmt);
	int fd = open_file(h, dir, flags, fmt, ap);
	va_end(ap);
	return fd;
}

static int read_all(int fd, char **ret_text, size_t *ret_n)
{
	CLEANUP_VEC VEC(char) text = { 0 };
	for (;;) {
		if (!VEC_RESERVE(&text, text.n ? 2 : 4096))
			return -ENOMEM;
		ssize_t got = read(fd, text.v + text.n, text.cap - text.n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		text.n += (size_t)got;
	}
	text.v[text.n] = '\0';
	if (ret_n)
		*ret_n = text.n;
	*ret_text = TAKE_PTR(text.v);
	return 0;
}

int host_read_file(const struct host *h, enum host_dir dir, char **ret_text, size_t *ret_n,
		   const char *fmt, ...)
{
	CLEANUP_RIGHTS bool raised = raise_for(dir);
	va_list ap;
	va_start(ap, fmt);
	CLEANUP_CLOSE int fd = open_file(h, dir, O_RDONLY, fmt, ap);
	va_end(ap);
	return fd < 0 ? fd : read_all(fd, ret_text, ret_n);
}

int host_read_process_file(const struct host *h, uint32_t pid, const char *name, char **ret_text,
			   size_t *ret_n)
{
	CLEANUP_VEC VEC(char) text = { 0 };
	if (remotemem_is_direct(h->memory, pid))
		return host_read_file(h, HOST_PROC, ret_text, ret_n, "%u/%s", pid, name);
	for (;;) {
		const char *part;
		long n = remotemem_read_text(h->memory, pid, name, text.n == 0, &part);
		if (n < 0)
			return (int)n;
		if (!VEC_RESERVE(&text, (size_t)n + 1))
			return -ENOMEM;
		if (n == 0)
			break;
		memcpy(text.v + text.n, part, (size_t)n);
		text.n += (size_t)n;
	}
	text.v[text.n] = '\0';
	if (ret_n)
		*ret_n = text.n;
	*ret_text = TAKE_PTR(text.v);
	return 0;
}

/* Copies what the helper has read, if anything. */
static long copy_start(long n, const char *from, char *text, size_t n_bytes)
{
	if (n >= (long)n_bytes)
		n = (long)n_bytes - 1;
	if (n > 0)
		memcpy(text, from, (size_t)n);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

long host_read_process_line(const struct host *h, uint32_t pid, const char *name, char *text,
			    size_t n_bytes)
{
	const char *part = NULL;
	long n;
	if (remotemem_is_direct(h->memory, pid)) {
		CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "%u/%s", pid, name);
		n = fd < 0 ? fd : read(fd, text, n_bytes - 1);
		text[n > 0 ? n : 0] = '\0';
		return n < 0 && fd >= 0 ? -errno : n;
	}
	n = remotemem_read_text(h->memory, pid, name, true, &part);
	return copy_start(n, part, text, n_bytes);
}

long host_read_process_link(const struct host *h, uint32_t pid, const char *name, char *text,
			    size_t n_bytes)
{
	const char *part = NULL;
	char path[64];
	if (remotemem_is_direct(h->memory, pid)) {
		CLEANUP_RIGHTS bool raised = rights_raise();
		snprintf(path, sizeof(path), "%u/%s", pid, name);
		ssize_t n = readlinkat(h->fd[HOST_PROC], path, text, n_bytes - 1);
		text[n > 0 ? n : 0] = '\0';
		return n < 0 ? -errno : n;
	}
	long n = remotemem_read_link(h->memory, pid, name, &part);
	return copy_start(n, part, text, n_bytes);
}

int host_open_process_link(const struct host *h, uint32_t pid, const char *name)
{
	return remotemem_is_direct(h->memory, pid)
		? host_open_file(h, HOST_PROC, O_PATH, "%u/%s", pid, name)
		: remotemem_open_link(h->memory, pid, name);
}

int host_read_long(const struct host *h, enum host_dir dir, long *ret_value,
		   const char *fmt, ...)
{
	CLEANUP_RIGHTS bool raised = raise_for(dir);
	va_list ap;
	va_start(ap, fmt);
	CLEANUP_CLOSE int fd = open_file(h, dir, O_RDONLY, fmt, ap);
	va_end(ap);
	if (fd < 0)
		return fd;
	char text[64];
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (end == text || errno)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

/* The state in /proc/.../status, which no process can hold back; 0 if there is no such process. */
static char state_of(const struct host *h, const char *folder)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "%s/status", folder) < 0)
		return 0;
	const char *line = strstr(text, "\nState:\t");
	return line ? line[8] : 0;
}

static bool is_ended(char state)
{
	return state == 0 || state == 'Z' || state == 'X';
}

/* The last number of the line is the id in the innermost namespace. */
static uint32_t own_tid_of(const char *status, uint32_t tid)
{
	const char *line = strstr(status, "\nNSpid:");
	if (!line)
		return tid;
	const char *end = strchrnul(line + 1, '\n');
	while (end[-1] >= '0' && end[-1] <= '9')
		end--;
	return (uint32_t)strtoul(end, NULL, 10);
}

uint32_t host_own_tid(const struct host *h, uint32_t pid, uint32_t tid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%u/task/%u/status", pid, tid) < 0)
		return 0;
	return own_tid_of(status, tid);
}

uint32_t host_live_thread(const struct host *h, uint32_t pid)
{
	char folder[64];
	snprintf(folder, sizeof(folder), "%u", pid);
	if (!is_ended(state_of(h, folder)))
		return pid;
	int fd = host_open_file(h, HOST_PROC, O_RDONLY | O_DIRECTORY, "%u/task", pid);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return pid;
	}
	uint32_t live = pid;
	const struct dirent *entry;
	while (live == pid && (entry = readdir(dir))) {
		unsigned long tid = strtoul(entry->d_name, NULL, 10);
		if (tid == 0 || tid == pid || tid > INT32_MAX)
			continue;
		snprintf(folder, sizeof(folder), "%u/task/%lu", pid, tid);
		if (!is_ended(state_of(h, folder)))
			live = (uint32_t)tid;
	}
	closedir(dir);
	return live;
}

void host_find_live(const struct host *h, uint32_t pid, struct host_live *ret)
{
	CLEANUP_FREE char *status = NULL;
	*ret = (struct host_live){ .tid = pid, .uid = UINT32_MAX };
	if (host_read_file(h, HOST_PROC, &status, NULL, "%u/status", pid) < 0)
		return;
	const char *state = strstr(status, "\nState:\t");
	if (!state || is_ended(state[8])) {
		ret->tid = host_live_thread(h, pid);
		ret->own_tid = host_own_tid(h, pid, ret->tid);
		return;
	}
	ret->own_tid = own_tid_of(status, pid);
	const char *uid = strstr(status, "\nUid:");
	if (uid)
		sscanf(uid + 5, "%*u %u", &ret->uid);
}
