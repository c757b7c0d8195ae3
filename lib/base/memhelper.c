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

struct exchange {
	uint32_t id;
	bool by_file;
	uint32_t n_pieces;
	size_t n_bytes;
	long result;                   /* bytes or -errno */
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

static void serve(void *ctx, int socket_fd)
{
	const struct memhelper *h = ctx;
	struct exchange *x = h->exchange;
	char byte;
	while (syscall(SYS_read, socket_fd, &byte, 1ul) == 1) {
		x->result = x->by_file ? read_file(h, x) : read_pieces(x);
		syscall(SYS_sendto, socket_fd, &byte, 1ul, MSG_NOSIGNAL, NULL, 0);
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
static bool await(const struct memhelper *h)
{
	uint64_t start_ns = clock_monotonic_ns();
	for (;;) {
		struct pollfd p = { .fd = h->socket_fd, .events = POLLIN };
		char byte;
		if (poll(&p, 1, STEP_MS) > 0)
			return recv(h->socket_fd, &byte, 1, MSG_DONTWAIT) == 1;
		uint64_t took_ns = clock_monotonic_ns() - start_ns;
		if (helper_is_asked_to_end() || took_ns > STARVED_NS ||
		    (took_ns > ANSWER_NS && !is_ready_to_run(h)))
			return false;
	}
}

static long ask(struct memhelper *h)
{
	if (send(h->socket_fd, "", 1, MSG_NOSIGNAL) == 1 && await(h))
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
	for (;;) {
		if (!start(h))
			return -ENOMEM;
		struct exchange *x = h->exchange;
		x->id = id;
		x->by_file = by_file;
		fill_request(x, &remote);
		if (x->n_bytes == 0)
			return n_done;
		size_t n_asked = x->n_bytes;
		long n = ask(h);
		if (n < 0)
			return n == -ETIMEDOUT || !n_done ? n : n_done;
		size_t n_taken = take_answer(x, (size_t)n, &local);
		n_done += (long)n_taken;
		if (n_taken < n_asked)
			return n_done;
	}
}
