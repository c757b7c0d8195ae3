#include "snapshot/waiton.h"

#include "base/host.h"
#include "proc/threadread.h"
#include "snapshot/syscalls.h"
#include "snapshot/targetmem.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES_MAX 200
#define POLL_FDS_SHOWN 4u

static size_t add_fd(const struct host *h, unsigned pid, int fd, char *buf, size_t at)
{
	char link[32], path[PATH_BYTES_MAX + 1];
	snprintf(link, sizeof(link), "fd/%d", fd);
	host_read_process_link(h, pid, link, path, sizeof(path));
	int len = snprintf(buf + at, WAITON_TEXT_MAX - at, "%sfd %d%s%s", at ? ", " : "", fd,
			   *path ? " " : "", path);
	return at + (size_t)len < WAITON_TEXT_MAX ? at + (size_t)len : WAITON_TEXT_MAX - 1;
}

static void add_poll(const struct host *h, unsigned pid, struct targetmem *memory,
		     const struct threadread_call *c, char *buf)
{
	struct pollfd p[POLL_FDS_SHOWN];
	uint64_t n = c->arg[1] < POLL_FDS_SHOWN ? c->arg[1] : POLL_FDS_SHOWN;
	struct targetmem_piece piece = {
		.address = c->arg[0], .to = p, .n_bytes = (uint32_t)(n * sizeof(*p)),
	};
	size_t at = 0;
	if (!n || targetmem_read(memory, &piece, 1) < 0)
		return;
	for (size_t i = 0; i < piece.n_read / sizeof(*p) && at < WAITON_TEXT_MAX / 2; i++)
		if (p[i].fd >= 0)
			at = add_fd(h, pid, p[i].fd, buf, at);
	if (at && c->arg[1] > n)
		snprintf(buf + at, WAITON_TEXT_MAX - at, " and %llu more",
			 (unsigned long long)(c->arg[1] - n));
}

const char *waiton_text(const struct host *h, unsigned pid, struct targetmem *memory,
			const struct threadread_call *c, char buf[WAITON_TEXT_MAX])
{
	*buf = '\0';
	switch (syscalls_object(c->syscall)) {
	case SYSCALLS_FD:
		add_fd(h, pid, (int)c->arg[0], buf, 0);
		break;
	case SYSCALLS_FUTEX:
		snprintf(buf, WAITON_TEXT_MAX, "futex 0x%llx", (unsigned long long)c->arg[0]);
		break;
	case SYSCALLS_POLL:
		add_poll(h, pid, memory, c, buf);
		break;
	case SYSCALLS_PROCESS:
		if ((int)c->arg[0] > 0)
			snprintf(buf, WAITON_TEXT_MAX, "process %d", (int)c->arg[0]);
		break;
	case SYSCALLS_PROCESS_OF:
		if (c->arg[0] == P_PID)
			snprintf(buf, WAITON_TEXT_MAX, "process %d", (int)c->arg[1]);
		break;
	case SYSCALLS_QUEUE:
		snprintf(buf, WAITON_TEXT_MAX, "queue %d", (int)c->arg[0]);
		break;
	case SYSCALLS_NOTHING:
		break;
	}
	return buf;
}
