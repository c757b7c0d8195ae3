/*
 * A request and its answer are in memory that both processes share, and one byte in each direction
 * says that they are there.
 */

#include "base/memhelper-private.h"

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
#include <unistd.h>

#define MS 1000000ull
#define STEP_MS 20
#define ANSWER_NS (100 * MS)           /* while it waits */
#define STARVED_NS (1000 * MS)         /* while it is ready to run, on a busy machine */
#define EVENT_NS STARVED_NS            /* the kernel may have to wait for all CPUs */

/* ---- its life ---------------------------------------------------------------------- */

/* 0 or -errno. */
static int start(struct memhelper *h)
{
	if (h->pid)
		return 0;
	if (!h->exchange) {
		void *p = mmap(NULL, sizeof(*h->exchange), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		h->exchange = p;
	}
	helper_reap(&h->cost);
	/* Rights that are not raised when it starts it never gets. */
	CLEANUP_RIGHTS bool raised = rights_raise();
	const struct helper_server server = { memhelper_serve, h, h->proc_fd };
	pid_t pid = helper_start(&server, &h->socket_fd);
	h->pid = pid > 0 ? pid : 0;
	return pid > 0 ? 0 : (int)pid;
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
static bool await(const struct memhelper *h, uint64_t answer_ns, int *ret_fd)
{
	uint64_t start_ns = clock_monotonic_ns();
	char byte;
	for (;;) {
		struct pollfd p = { .fd = h->socket_fd, .events = POLLIN };
		if (poll(&p, 1, STEP_MS) > 0)
			return helper_receive(h->socket_fd, &byte, 1, ret_fd);
		uint64_t took_ns = clock_monotonic_ns() - start_ns;
		if (helper_is_asked_to_end() || took_ns > STARVED_NS ||
		    (took_ns > answer_ns && !is_ready_to_run(h)))
			return false;
	}
}

/* give_fd: a descriptor that the helper needs, or -1.  *ret_fd: the one that comes with the answer;
 * unchanged otherwise. */
static long ask_with(struct memhelper *h, int give_fd, uint64_t answer_ns, int *ret_fd)
{
	helper_send(h->socket_fd, "", 1, give_fd);
	if (await(h, answer_ns, ret_fd))
		return h->exchange->result;
	end(h);
	/* The kernel may still write into it for the one that is stuck. */
	munmap(h->exchange, sizeof(*h->exchange));
	h->exchange = NULL;
	return -ETIMEDOUT;
}

static long ask(struct memhelper *h, int *ret_fd)
{
	return ask_with(h, -1, ANSWER_NS, ret_fd);
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

static void fill_request(struct memhelper_exchange *x, struct cursor *remote)
{
	x->n_pieces = 0;
	x->n_bytes = 0;
	while (x->n_pieces < MEMHELPER_PIECES_MAX && x->n_bytes < MEMHELPER_DATA_BYTES) {
		struct iovec p = rest_of_piece(remote);
		if (!p.iov_len)
			break;
		if (p.iov_len > MEMHELPER_DATA_BYTES - x->n_bytes)
			p.iov_len = MEMHELPER_DATA_BYTES - x->n_bytes;
		x->piece[x->n_pieces++] = p;
		x->n_bytes += p.iov_len;
		remote->at += p.iov_len;
	}
}

static size_t take_answer(const struct memhelper_exchange *x, size_t n_bytes, struct cursor *local)
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
		int r = start(h);
		if (r < 0)
			return r;
		struct memhelper_exchange *x = h->exchange;
		x->op = by_file ? MEMHELPER_READ_MEM_FILE : MEMHELPER_READ_MEMORY;
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

static int prepare_path(struct memhelper *h, enum memhelper_op op, const char *path)
{
	int r = start(h);
	if (r < 0)
		return r;
	h->exchange->op = op;
	snprintf(h->exchange->path, sizeof(h->exchange->path), "%s", path);
	return 0;
}

long memhelper_text(struct memhelper *h, const char *path, bool is_first, const char **ret_text)
{
	int fd, r = prepare_path(h, is_first ? MEMHELPER_READ_TEXT : MEMHELPER_CONTINUE_TEXT, path);
	if (r < 0)
		return r;
	*ret_text = (const char *)h->exchange->data;
	return ask(h, &fd);
}

long memhelper_read_link(struct memhelper *h, const char *path, const char **ret_text)
{
	int fd, r = prepare_path(h, MEMHELPER_READ_LINK, path);
	if (r < 0)
		return r;
	*ret_text = (const char *)h->exchange->data;
	return ask(h, &fd);
}

int memhelper_link(struct memhelper *h, const char *path)
{
	int fd = -EIO, r = prepare_path(h, MEMHELPER_OPEN_LINK, path);
	if (r < 0)
		return r;
	r = (int)ask(h, &fd);
	return r < 0 ? r : fd;
}

/* ---- events ------------------------------------------------------------------------------ */

int memhelper_event(struct memhelper *h, const struct memhelper_event *ev)
{
	int fd = -EIO, started = start(h);
	if (started < 0)
		return started;
	struct memhelper_exchange *x = h->exchange;
	x->op = MEMHELPER_OPEN_EVENT;
	x->id = ev->tid;
	x->cpu = ev->cpu;
	x->flags = ev->flags;
	memcpy(x->data, ev->attr, ev->n_attr_bytes);
	long r = ask_with(h, ev->group_fd, EVENT_NS, &fd);
	if (r != -ETIMEDOUT)
		memcpy(ev->attr, x->data, ev->n_attr_bytes);
	return r < 0 ? (int)r : fd;
}
