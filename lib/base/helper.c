/*
 * The helper gets a copy of our memory and of the descriptors that it needs.  Its answer is one
 * message, with a descriptor if it has found a file that can be read without waiting.
 */

#include "base/helper.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ull
#define STEP_MS 20
#define ANSWER_NS (1000 * MS)      /* the longest time for the first byte */
#define BYTE_NS 125                /* and for each byte: 8 MB a second */
#define FILE_NS (3000 * MS)        /* the longest time for one file */
#define MISSED_NS (1500 * MS)      /* waited without success in total: then nothing is asked */
#define TOTAL_NS (30000 * MS)      /* waited in total */
#define COPIES_BYTES_MAX (2 * HELPER_COPY_BYTES_MAX)
#define CHUNK_BYTES (64u << 10)
#define KEEP_MAX 4                 /* descriptors of a job, and two of ours */

/* ---- in the helper ------------------------------------------------------------ */

static bool is_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* Copies what the file has now; zeros become holes. */
static int copy_bytes(int from, int to, uint64_t n_bytes)
{
	uint8_t chunk[CHUNK_BYTES];
	uint64_t n_done = 0;
	while (n_done < n_bytes) {
		uint64_t left = n_bytes - n_done;
		ssize_t n = pread(from, chunk, left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES,
				  (off_t)n_done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if (ftruncate(to, (off_t)n_done + n) < 0)
			return -errno;
		if (!is_zero(chunk, (size_t)n) && pwrite(to, chunk, (size_t)n, (off_t)n_done) != n)
			return -EIO;
		n_done += (uint64_t)n;
	}
	return 0;
}

int helper_copy(int fd, int copy_fd, uint64_t n_bytes_max, struct stat *ret_st)
{
	if (fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -ENXIO;
	if ((uint64_t)ret_st->st_size > n_bytes_max)
		return -EFBIG;
	return copy_bytes(fd, copy_fd, (uint64_t)ret_st->st_size);
}

static void close_range_of(unsigned first, unsigned last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && fd < 65536; fd++)
		close((int)fd);
}

/* Keeps only these descriptors; -1: no descriptor. */
static void close_others(const int keep[KEEP_MAX])
{
	unsigned first = 0;
	for (;;) {
		int next = -1;
		for (int i = 0; i < KEEP_MAX; i++)
			if (keep[i] >= (int)first && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0)
			break;
		if ((unsigned)next > first)
			close_range_of(first, (unsigned)next - 1);
		first = (unsigned)next + 1;
	}
	close_range_of(first, ~0u);
}

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

void helper_send(int socket_fd, const void *answer, size_t n, int fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec v = { (void *)answer, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	if (fd >= 0) {
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
	}
	syscall(SYS_sendmsg, socket_fd, &m, MSG_NOSIGNAL);
}

__attribute__((noreturn)) static void leave(void)
{
	for (;;)
		syscall(SYS_exit_group, 0);
}

__attribute__((noreturn)) static void help(const struct helper_job *job, int copy_fd,
					   uint64_t n_bytes_max, int socket_fd)
{
	uint64_t answer[HELPER_ANSWER_BYTES_MAX / 8] = { 0 };
	const int keep[KEEP_MAX] = { job->keep[0], job->keep[1], copy_fd, socket_fd };
	const struct sched_param normal = { 0 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	close_others(keep);
	int fd = job->run(job->ctx, answer, copy_fd, n_bytes_max);
	helper_send(socket_fd, answer, job->n_answer_bytes, fd);
	leave();
}

/* ---- waiting for it ----------------------------------------------------------- */

bool helper_is_asked_to_end(void)
{
	sigset_t set;
	return sigpending(&set) == 0 && (sigismember(&set, SIGINT) == 1 ||
		sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGHUP) == 1);
}

/* True: an answer is there, or the helper has ended. */
static bool await(int socket_fd, int copy_fd, uint64_t start_ns)
{
	for (;;) {
		struct pollfd p = { .fd = socket_fd, .events = POLLIN };
		struct stat st;
		if (poll(&p, 1, STEP_MS) > 0)
			return true;
		uint64_t took_ns = clock_monotonic_ns() - start_ns, may_ns = ANSWER_NS;
		if (fstat(copy_fd, &st) == 0)
			may_ns += (uint64_t)st.st_size * BYTE_NS;
		if (took_ns > may_ns || took_ns > FILE_NS || helper_is_asked_to_end())
			return false;
	}
}

bool helper_receive(int socket_fd, void *ret, size_t n, int *ret_fd)
{
	union control control;
	struct iovec v = { ret, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	if (syscall(SYS_recvmsg, socket_fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != (long)n)
		return false;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return true;
}

/* Even the end of a process may wait for a FUSE daemon. */
void helper_end(struct helper_cost *cost, pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	kill(pid, SIGKILL);
	if (cost->n_stuck < HELPER_STUCK_MAX) {
		cost->stuck[cost->n_stuck++] = pid;
		return;
	}
	for (int i = 0; i < 10 && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

void helper_reap(struct helper_cost *cost)
{
	unsigned n = 0;
	for (unsigned i = 0; i < cost->n_stuck; i++)
		if (waitpid(cost->stuck[i], NULL, __WALL | WNOHANG) == 0)
			cost->stuck[n++] = cost->stuck[i];
	cost->n_stuck = n;
}

static bool has_patience(struct helper_cost *cost)
{
	helper_reap(cost);
	return cost->missed_ns < MISSED_NS && cost->waited_ns < TOTAL_NS &&
	       cost->n_stuck < HELPER_STUCK_MAX;
}

static uint64_t room_for_copy(const struct helper_cost *cost)
{
	uint64_t left = COPIES_BYTES_MAX - cost->n_copied_bytes;
	return left < HELPER_COPY_BYTES_MAX ? left : HELPER_COPY_BYTES_MAX;
}

/* As fork(2), but without a signal at its end. */
static pid_t start(void)
{
	return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
}

static int ask(struct helper_cost *cost, const struct helper_job *job, int copy_fd,
	       void *ret_answer, int *ret_fd)
{
	int fds[2];
	uint64_t start_ns = clock_monotonic_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	CLEANUP_CLOSE int ours = fds[0], theirs = fds[1];
	pid_t pid = start();
	if (pid == 0)
		help(job, copy_fd, room_for_copy(cost), theirs);
	if (pid < 0)
		return -errno;
	close(TAKE_FD(theirs));
	bool has_answered = await(ours, copy_fd, start_ns);
	int r = !has_answered ? -ETIMEDOUT
		: helper_receive(ours, ret_answer, job->n_answer_bytes, ret_fd) ? 0 : -EIO;
	helper_end(cost, pid);
	*(has_answered ? &cost->waited_ns : &cost->missed_ns) += clock_monotonic_ns() - start_ns;
	return r;
}

int helper_ask(struct helper_cost *cost, const struct helper_job *job, void *ret_answer,
	       int *ret_fd, int *ret_copy)
{
	struct helper_cost own = { 0 };
	struct stat st;
	*ret_fd = *ret_copy = -1;
	cost = cost ? cost : &own;
	if (!has_patience(cost))
		return -ETIMEDOUT;
	CLEANUP_CLOSE int copy = memfd_create("cprof copy", MFD_CLOEXEC);
	if (copy < 0)
		return -errno;
	int r = ask(cost, job, copy, ret_answer, ret_fd);
	if (r < 0)
		return r;
	if (fstat(copy, &st) == 0)
		cost->n_copied_bytes += (uint64_t)st.st_size;
	*ret_copy = TAKE_FD(copy);
	return 0;
}

/* ---- one that stays ------------------------------------------------------------- */

pid_t helper_start(const struct helper_server *s, int *ret_fd)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	CLEANUP_CLOSE int ours = fds[0], theirs = fds[1];
	pid_t pid = start();
	if (pid == 0) {
		/* The end of the thread that has started it is not the end of the program: only
		 * the socket tells. */
		const int keep[KEEP_MAX] = { s->keep_fd, theirs, -1, -1 };
		close_others(keep);
		s->serve(s->ctx, theirs);
		leave();
	}
	if (pid < 0)
		return -errno;
	*ret_fd = TAKE_FD(ours);
	return pid;
}
