/*
 * A request and its answer are in memory that both processes share, and one byte in each direction
 * says that they are there.
 */

#include "base/memhelper.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS 1000000ull
#define STEP_MS 20
#define ANSWER_NS (100 * MS)           /* while it waits */
#define STARVED_NS (1000 * MS)         /* while it is ready to run, on a busy machine */
#define DATA_BYTES (1u << 20)          /* of one answer */

enum op { READ_MEMORY, READ_MEM_FILE, READ_TEXT, CONTINUE_TEXT, OPEN_LINK };

struct exchange {
	enum op op;
	uint32_t id;
	char path[MEMHELPER_PATH_BYTES];
	uint32_t n_pieces;
	size_t n_bytes;
	long result;                   /* bytes or -errno; of OPEN_LINK 0 or -errno */
	struct iovec piece[MEMHELPER_PIECES_MAX];
	uint8_t data[DATA_BYTES];
};

struct memhelper {
	int proc_fd;
	pid_t pid;                     /* 0: none */
	int socket_fd;
	struct exchange *exchange;     /* NULL: none yet */
	struct helper_cost cost;
};

/* ---- in the helper ---------------------------------------------------------------- */

/*
 * The helper is a copy of this process at some time, and its pages are copied when we change ours.
 * It needs its code, its stack and the exchange; all else it does must be system calls.
 */

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

static long read_file(const struct memhelper *h, struct exchange *x)
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

static long read_pieces(struct exchange *x)
{
	struct iovec local = { x->data, x->n_bytes };
	long n = syscall(SYS_process_vm_readv, (pid_t)x->id, &local, 1ul, x->piece,
			 (unsigned long)x->n_pieces, 0ul);
	return n < 0 ? -errno : n;
}

static int open_path(const struct memhelper *h, const struct exchange *x, int flags)
{
	int fd = (int)syscall(SYS_openat, h->proc_fd, x->path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The kernel returns about a page each time. */
static long read_text(struct exchange *x, int fd)
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

static void serve(void *ctx, int socket_fd)
{
	const struct memhelper *h = ctx;
	struct exchange *x = h->exchange;
	int text_fd = -1;
	char byte;
	while (syscall(SYS_read, socket_fd, &byte, 1ul) == 1) {
		int link_fd = -1;
		switch (x->op) {
		case READ_MEMORY:
			x->result = read_pieces(x);
			break;
		case READ_MEM_FILE:
			x->result = read_file(h, x);
			break;
		case READ_TEXT:
			syscall(SYS_close, text_fd);
			text_fd = open_path(h, x, O_RDONLY);
			x->result = text_fd < 0 ? text_fd : read_text(x, text_fd);
			break;
		case CONTINUE_TEXT:
			x->result = read_text(x, text_fd);
			break;
		case OPEN_LINK:
			link_fd = open_path(h, x, O_PATH);
			x->result = link_fd < 0 ? link_fd : 0;
		}
		helper_send(socket_fd, &byte, 1, link_fd);
		if (link_fd >= 0)
			syscall(SYS_close, link_fd);
	}
}

/* ---- its life ---------------------------------------------------------------------- */

static bool start(struct memhelper *h)
{
	if (h->pid)
		return true;
	if (!h->exchange) {
		void *p = mmap(NULL, sizeof(*h->exchange), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return false;
		h->exchange = p;
	}
	helper_reap(&h->cost);
	/* Rights that are not raised when it starts it never gets. */
	CLEANUP_RIGHTS bool raised = rights_raise();
	const struct helper_server server = { serve, h, h->proc_fd };
	pid_t pid = helper_start(&server, &h->socket_fd);
	h->pid = pid > 0 ? pid : 0;
	return pid > 0;
}

static void end(struct memhelper *h)
{
	if (!h->pid)
		return;
	close(h->socket_fd);
	helper_end(&h->cost, h->pid);
	h->pid = 0;
}

struct memhelper *memhelper_new(int proc_fd)
{
	struct memhelper *h = calloc(1, sizeof(*h));
	if (h)
		h->proc_fd = proc_fd;
	return h;
}

void memhelper_free(struct memhelper *h)
{
	if (!h)
		return;
	end(h);
	helper_reap(&h->cost);
	if (h->exchange)
		munmap(h->exchange, sizeof(*h->exchange));
	free(h);
}

/* ---- asking it ---------------------------------------------------------------------- */

/* proc(5): "PID (NAME) STATE". */
static bool is_ready_to_run(const struct memhelper *h)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "%d/stat", (int)h->pid);
	CLEANUP_CLOSE int fd = openat(h->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *name_end = strrchr(text, ')');
	return name_end && strncmp(name_end, ") R", 3) == 0;
}

/* False: no answer in time, or the helper has ended. */
static bool await(const struct memhelper *h, int *ret_fd)
{
	uint64_t start_ns = clock_monotonic_ns();
	char byte;
	for (;;) {
		struct pollfd p = { .fd = h->socket_fd, .events = POLLIN };
		if (poll(&p, 1, STEP_MS) > 0)
			return helper_receive(h->socket_fd, &byte, 1, ret_fd);
		uint64_t took_ns = clock_monotonic_ns() - start_ns;
		if (helper_is_asked_to_end() || took_ns > STARVED_NS ||
		    (took_ns > ANSWER_NS && !is_ready_to_run(h)))
			return false;
	}
}

/* *ret_fd: a descriptor that comes with the answer; unchanged otherwise. */
static long ask(struct memhelper *h, int *ret_fd)
{
	if (send(h->socket_fd, "", 1, MSG_NOSIGNAL) == 1 && await(h, ret_fd))
		return h->exchange->result;
	end(h);
	return -ETIMEDOUT;
}

/* ---- pieces ------------------------------------------------------------------------- */

/* A place in a list of pieces. */
struct cursor {
	const struct iovec *piece;
	size_t n, i, at;
};

/* The rest of the piece; zero bytes at the end of the list. */
static struct iovec rest_of_piece(struct cursor *c)
{
	while (c->i < c->n && c->at == c->piece[c->i].iov_len) {
		c->i++;
		c->at = 0;
	}
	if (c->i == c->n)
		return (struct iovec){ NULL, 0 };
	const struct iovec *p = &c->piece[c->i];
	return (struct iovec){ (char *)p->iov_base + c->at, p->iov_len - c->at };
}

static void fill_request(struct exchange *x, struct cursor *remote)
{
	x->n_pieces = 0;
	x->n_bytes = 0;
	while (x->n_pieces < MEMHELPER_PIECES_MAX && x->n_bytes < DATA_BYTES) {
		struct iovec p = rest_of_piece(remote);
		if (!p.iov_len)
			break;
		if (p.iov_len > DATA_BYTES - x->n_bytes)
			p.iov_len = DATA_BYTES - x->n_bytes;
		x->piece[x->n_pieces++] = p;
		x->n_bytes += p.iov_len;
		remote->at += p.iov_len;
	}
}

static size_t take_answer(const struct exchange *x, size_t n_bytes, struct cursor *local)
{
	size_t n = 0;
	while (n < n_bytes) {
		struct iovec p = rest_of_piece(local);
		if (!p.iov_len)
			break;
		if (p.iov_len > n_bytes - n)
			p.iov_len = n_bytes - n;
		memcpy(p.iov_base, x->data + n, p.iov_len);
		local->at += p.iov_len;
		n += p.iov_len;
	}
	return n;
}

long memhelper_read(struct memhelper *h, uint32_t id, bool by_file,
		    const struct memhelper_pieces *p)
{
	struct cursor local = { p->local, p->n_local, 0, 0 };
	struct cursor remote = { p->remote, p->n_remote, 0, 0 };
	long n_done = 0;
	int fd;
	for (;;) {
		if (!start(h))
			return -ENOMEM;
		struct exchange *x = h->exchange;
		x->op = by_file ? READ_MEM_FILE : READ_MEMORY;
		x->id = id;
		fill_request(x, &remote);
		if (x->n_bytes == 0)
			return n_done;
		size_t n_asked = x->n_bytes;
		long n = ask(h, &fd);
		if (n < 0)
			return n == -ETIMEDOUT || !n_done ? n : n_done;
		size_t n_taken = take_answer(x, (size_t)n, &local);
		n_done += (long)n_taken;
		if (n_taken < n_asked)
			return n_done;
	}
}

/* ---- files of /proc -------------------------------------------------------------------- */

static bool prepare_path(struct memhelper *h, enum op op, const char *path)
{
	if (!start(h))
		return false;
	h->exchange->op = op;
	snprintf(h->exchange->path, sizeof(h->exchange->path), "%s", path);
	return true;
}

long memhelper_text(struct memhelper *h, const char *path, bool is_first, const char **ret_text)
{
	int fd;
	if (!prepare_path(h, is_first ? READ_TEXT : CONTINUE_TEXT, path))
		return -ENOMEM;
	*ret_text = (const char *)h->exchange->data;
	return ask(h, &fd);
}

int memhelper_link(struct memhelper *h, const char *path)
{
	int fd = -EIO;
	if (!prepare_path(h, OPEN_LINK, path))
		return -ENOMEM;
	long r = ask(h, &fd);
	return r < 0 ? (int)r : fd;
}
