/*
 * The helper is a copy of this process at some time, and its pages are copied when we change ours.
 * It needs its code, its stack and the exchange; all else it does must be system calls.
 */

#include "base/memhelper-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_mem(int proc_fd, uint32_t id)
{
	char path[16], *p = path + sizeof(path);
	static const char name[] = "/mem";
	for (size_t i = sizeof(name); i > 0; i--)
		*--p = name[i - 1];
	do {
		*--p = (char)('0' + id % 10);
		id /= 10;
	} while (id);
	return (int)syscall(SYS_openat, proc_fd, p, O_RDONLY | O_CLOEXEC);
}

static long read_file(const struct memhelper *h, struct memhelper_exchange *x)
{
	int fd = open_mem(h->proc_fd, x->id);
	if (fd < 0)
		return -errno;
	long n = syscall(SYS_pread64, fd, x->data, x->piece[0].iov_len,
			 (long)(uintptr_t)x->piece[0].iov_base);
	int error = errno;
	syscall(SYS_close, fd);
	return n < 0 ? -error : n;
}

static long read_pieces(struct memhelper_exchange *x)
{
	struct iovec local = { x->data, x->n_bytes };
	long n = syscall(SYS_process_vm_readv, (pid_t)x->id, &local, 1ul, x->piece,
			 (unsigned long)x->n_pieces, 0ul);
	return n < 0 ? -errno : n;
}

static int open_path(const struct memhelper *h, const struct memhelper_exchange *x, int flags)
{
	int fd = (int)syscall(SYS_openat, h->proc_fd, x->path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The kernel returns about a page each time. */
static long read_text(struct memhelper_exchange *x, int fd)
{
	size_t n = 0;
	while (n < sizeof(x->data)) {
		long got = syscall(SYS_read, fd, x->data + n, sizeof(x->data) - n);
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (long)n;
}

static long read_link(const struct memhelper *h, struct memhelper_exchange *x)
{
	long n = syscall(SYS_readlinkat, h->proc_fd, x->path, x->data, sizeof(x->data));
	return n < 0 ? -errno : n;
}

static int open_event(struct memhelper_exchange *x, int group_fd)
{
	int fd = (int)syscall(SYS_perf_event_open, x->data, (pid_t)x->id, x->cpu, group_fd,
			      x->flags);
	return fd < 0 ? -errno : fd;
}

/* The result; *ret_fd is the descriptor to hand over, or -1.  *text_fd stays open. */
static long answer(const struct memhelper *h, struct memhelper_exchange *x, int group_fd,
		   int *text_fd, int *ret_fd)
{
	int fd = -1;
	*ret_fd = -1;
	switch (x->op) {
	case MEMHELPER_READ_MEMORY:
		return read_pieces(x);
	case MEMHELPER_READ_MEM_FILE:
		return read_file(h, x);
	case MEMHELPER_READ_TEXT:
		syscall(SYS_close, *text_fd);
		*text_fd = open_path(h, x, O_RDONLY);
		return *text_fd < 0 ? *text_fd : read_text(x, *text_fd);
	case MEMHELPER_CONTINUE_TEXT:
		return read_text(x, *text_fd);
	case MEMHELPER_READ_LINK:
		return read_link(h, x);
	case MEMHELPER_OPEN_LINK:
		fd = open_path(h, x, O_PATH);
		break;
	case MEMHELPER_OPEN_EVENT:
		fd = open_event(x, group_fd);
		break;
	}
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

void memhelper_serve(void *memhelper, int socket_fd)
{
	const struct memhelper *h = memhelper;
	int text_fd = -1;
	for (;;) {
		struct pollfd p = { .fd = socket_fd, .events = POLLIN };
		int group_fd = -1, answer_fd;
		char byte;
		if (syscall(SYS_ppoll, &p, 1ul, NULL, NULL, 0ul) < 0)
			continue;
		if (!helper_receive(socket_fd, &byte, 1, &group_fd))
			return;
		h->exchange->result = answer(h, h->exchange, group_fd, &text_fd, &answer_fd);
		helper_send(socket_fd, &byte, 1, answer_fd);
		close_fd(answer_fd);
		close_fd(group_fd);
	}
}
