/*
 * A path is walked with O_PATH, which opens nothing.  The walk itself may wait, too, when it enters
 * a FUSE mount.  Three ways, the cheapest first:
 *
 * 1. RESOLVE_CACHED (Linux 5.12) uses only what the kernel has in memory, and never waits.  It
 *    succeeds for nearly all files that a process has mapped.
 * 2. RESOLVE_NO_XDEV stays on the file system of the folder, whose type is known.
 * 3. The helper process walks.
 *
 * Then the type of the file system decides how the file is read: by the caller with pread(2), or by
 * the helper, which copies it into a memfd.
 *
 * Why a process and not a thread?  A thread that waits for a FUSE daemon cannot be killed once the
 * daemon has read the request, and a process does not end before its last thread.  So one file on
 * such a mount could keep cprof from ever ending.  The helper shares nothing with us: what is left
 * of it when we end is the kernel's business.  It sends no SIGCHLD, and only a wait with __WALL
 * sees it, so a program that uses the library does not notice it.
 */

#include "base/foreign.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fstype.h"
#include "base/pathwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

#define MS 1000000ull
#define STEP_MS 20
#define ANSWER_NS (1000 * MS)      /* the longest time for the first byte */
#define BYTE_NS 125                /* and for each byte: 8 MB a second */
#define FILE_NS (3000 * MS)        /* the longest time for one file */
#define MISSED_NS (1500 * MS)      /* waited without success in total: then nothing is asked */
#define TOTAL_NS (30000 * MS)      /* waited in total */
#define STUCK_MAX 8                /* helpers that have not ended */
#define COPIES_BYTES_MAX (2 * FOREIGN_COPY_BYTES_MAX)
#define CHUNK_BYTES (64u << 10)

struct foreign {
	struct fstype_cache types;
	uint64_t missed_ns, waited_ns, n_copied_bytes;
	pid_t stuck[STUCK_MAX];    /* helpers that have not ended yet */
	unsigned n_stuck;
};

/* The helper's answer. */
struct answer {
	int code;                  /* 0 or -errno */
	bool is_copied;            /* else a descriptor for O_PATH comes with it */
	struct stat st;
};

struct foreign *foreign_new(void)
{
	return calloc(1, sizeof(struct foreign));
}

static void reap(struct foreign *f)
{
	unsigned n = 0;
	for (unsigned i = 0; i < f->n_stuck; i++)
		if (waitpid(f->stuck[i], NULL, __WALL | WNOHANG) == 0)
			f->stuck[n++] = f->stuck[i];
	f->n_stuck = n;
}

void foreign_free(struct foreign *f)
{
	if (f)
		reap(f);
	free(f);
}

int foreign_is_lost(int result)
{
	return result == -ETIMEDOUT || result == -EFBIG || result == -EREMOTE;
}

int foreign_lacks_descriptor(int result)
{
	return result == -EMFILE || result == -ENFILE;
}

/* ---- walking ---------------------------------------------------------------- */

static int walk(const struct foreign_want *w, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (w->flags & FOREIGN_NO_FOLLOW ? O_NOFOLLOW : 0),
		.resolve = resolve | (w->flags & FOREIGN_IN_ROOT ? RESOLVE_IN_ROOT : 0) |
			   (w->flags & FOREIGN_MAGIC_LINKS ? 0 : RESOLVE_NO_MAGICLINKS),
	};
	long fd = syscall(SYS_openat2, w->dir_fd, w->path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/* Kernels before 5.6, and seccomp filters that do not know openat2(2): the walk may wait. */
static int walk_plainly(const struct foreign_want *w)
{
	const char *path = w->path;
	if (w->flags & FOREIGN_IN_ROOT)
		path += strspn(path, "/");
	int fd = openat(w->dir_fd, path, O_PATH | O_CLOEXEC |
			(w->flags & (FOREIGN_NO_FOLLOW | FOREIGN_IN_ROOT) ? O_NOFOLLOW : 0));
	return fd < 0 ? -errno : fd;
}

static bool has_no_openat2(int result)
{
	return result == -ENOSYS || result == -EPERM;
}

static int walk_anyhow(const struct foreign_want *w)
{
	int fd = walk(w, 0);
	return has_no_openat2(fd) ? walk_plainly(w) : fd;
}

/* Is the folder where the walk starts on a file system that answers at once? */
static bool starts_locally(struct foreign *f, const struct foreign_want *w)
{
	mode_t mode;
	return (*w->path == '/' && !(w->flags & FOREIGN_IN_ROOT)) ||
	       fstype_of(f ? &f->types : NULL, w->dir_fd, w->pid, &mode) != FSTYPE_REMOTE;
}

/* Without waiting.  -EAGAIN: impossible. */
static int walk_fast(struct foreign *f, const struct foreign_want *w)
{
	/* A link of /proc leads to an open file, without a walk. */
	if (w->flags & FOREIGN_MAGIC_LINKS)
		return walk_anyhow(w);
	int fd = walk(w, RESOLVE_CACHED);
	if (has_no_openat2(fd))
		return walk_plainly(w);
	if (fd != -EAGAIN && fd != -EINVAL)
		return fd;
	if (!starts_locally(f, w))
		return -EAGAIN;
	fd = walk(w, RESOLVE_NO_XDEV);
	return fd == -EXDEV ? -EAGAIN : fd;
}

static int check_type(mode_t mode)
{
	return S_ISLNK(mode) ? -ELOOP : mode && !S_ISREG(mode) ? -ENXIO : 0;
}

static int reopen(int path_fd, struct stat *ret)
{
	CLEANUP_CLOSE int fd =
		pathwalk_reopen(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : TAKE_FD(fd);
}

/* ---- the helper --------------------------------------------------------------
 * A copy of a process that may have threads: it may call only what a signal handler may call. */

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

static int copy_file(int path_fd, int copy_fd, uint64_t n_bytes_max, struct answer *a)
{
	int fd = reopen(path_fd, &a->st);
	if (fd < 0)
		return fd;
	if (!S_ISREG(a->st.st_mode))
		return -ENXIO;
	if ((uint64_t)a->st.st_size > n_bytes_max)
		return -EFBIG;
	a->is_copied = true;
	return copy_bytes(fd, copy_fd, (uint64_t)a->st.st_size);
}

/* path_fd: -1 if the path is still to be walked.  Returns the answer's descriptor, or -1. */
static int answer_for(const struct foreign_want *w, int path_fd, int copy_fd, uint64_t n_bytes_max,
		      struct answer *a)
{
	mode_t mode;
	if (path_fd < 0)
		path_fd = walk_anyhow(w);
	if (path_fd < 0) {
		a->code = path_fd;
		return -1;
	}
	enum fstype type = fstype_of(NULL, path_fd, w->pid, &mode);
	a->code = check_type(mode);
	if (a->code < 0)
		return -1;
	switch (type) {
	case FSTYPE_LOCAL:
		return path_fd;
	case FSTYPE_PSEUDO:
		a->code = -ENXIO;
		return -1;
	case FSTYPE_REMOTE:
		a->code = w->flags & FOREIGN_NO_COPY
				  ? -EREMOTE : copy_file(path_fd, copy_fd, n_bytes_max, a);
	}
	return -1;
}

static void close_range_of(unsigned first, unsigned last)
{
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && fd < 65536; fd++)
		close((int)fd);
}

/* Keeps only these descriptors; -1: no descriptor. */
static void close_others(const int keep[4])
{
	unsigned first = 0;
	for (;;) {
		int next = -1;
		for (int i = 0; i < 4; i++)
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

static void send_answer(int socket_fd, struct answer *a, int fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec v = { a, sizeof(*a) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	if (fd >= 0) {
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
	}
	sendmsg(socket_fd, &m, MSG_NOSIGNAL);
}

__attribute__((noreturn)) static void help(const struct foreign_want *w, int path_fd, int copy_fd,
					   uint64_t n_bytes_max, int socket_fd)
{
	struct answer a = { 0 };
	const int keep[4] = { w->dir_fd, path_fd, copy_fd, socket_fd };
	const struct sched_param normal = { 0 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	close_others(keep);
	int fd = answer_for(w, path_fd, copy_fd, n_bytes_max, &a);
	send_answer(socket_fd, &a, fd);
	for (;;)
		syscall(SYS_exit_group, 0);
}

/* ---- waiting for it ----------------------------------------------------------- */

/* Has a signal come that shall end the program, and that it holds back? */
static bool is_asked_to_end(void)
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
		if (took_ns > may_ns || took_ns > FILE_NS || is_asked_to_end())
			return false;
	}
}

static int receive_answer(int socket_fd, struct answer *a)
{
	union control control;
	struct iovec v = { a, sizeof(*a) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	if (recvmsg(socket_fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != (ssize_t)sizeof(*a))
		a->code = -EIO;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Never waits: even the end of a process may wait for a FUSE daemon. */
static void let_go(struct foreign *f, pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	kill(pid, SIGKILL);
	if (f && f->n_stuck < STUCK_MAX) {
		f->stuck[f->n_stuck++] = pid;
		return;
	}
	for (int i = 0; i < 10 && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

static int ask_helper(struct foreign *f, const struct foreign_want *w, int path_fd, int copy_fd,
		      struct answer *a)
{
	int fds[2];
	uint64_t start_ns = clock_monotonic_ns(), room = FOREIGN_COPY_BYTES_MAX;
	if (f && COPIES_BYTES_MAX - f->n_copied_bytes < room)
		room = COPIES_BYTES_MAX - f->n_copied_bytes;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		a->code = -errno;
		return -1;
	}
	CLEANUP_CLOSE int ours = fds[0], theirs = fds[1];
	/* As fork(2), but without a signal at its end. */
	pid_t pid = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0)
		help(w, path_fd, copy_fd, room, theirs);
	if (pid < 0) {
		a->code = -errno;
		return -1;
	}
	close(TAKE_FD(theirs));
	bool has_answered = await(ours, copy_fd, start_ns);
	a->code = -ETIMEDOUT;
	int fd = has_answered ? receive_answer(ours, a) : -1;
	let_go(f, pid);
	uint64_t took_ns = clock_monotonic_ns() - start_ns;
	if (f && has_answered)
		f->waited_ns += took_ns;
	else if (f)
		f->missed_ns += took_ns;
	return fd;
}

static bool has_patience(struct foreign *f)
{
	if (!f)
		return true;
	reap(f);
	return f->missed_ns < MISSED_NS && f->waited_ns < TOTAL_NS && f->n_stuck < STUCK_MAX;
}

/* ---- opening ------------------------------------------------------------------ */

/* path_fd: -1: the path could not be walked without waiting. */
static int open_slowly(struct foreign *f, const struct foreign_want *w, int path_fd,
		       struct stat *ret)
{
	if (!has_patience(f))
		return -ETIMEDOUT;
	struct answer a = { 0 };
	CLEANUP_CLOSE int copy = memfd_create("cprof copy", MFD_CLOEXEC);
	if (copy < 0)
		return -errno;
	CLEANUP_CLOSE int there = ask_helper(f, w, path_fd, copy, &a);
	if (a.code < 0)
		return a.code;
	if (there >= 0)
		return reopen(there, ret);
	if (!a.is_copied)
		return -EIO;
	if (f)
		f->n_copied_bytes += (uint64_t)a.st.st_size;
	*ret = a.st;
	return TAKE_FD(copy);
}

int foreign_open(struct foreign *f, const struct foreign_want *w, struct stat *ret)
{
	struct stat st;
	ret = ret ? ret : &st;
	mode_t mode;
	CLEANUP_CLOSE int fd = walk_fast(f, w);
	if (fd == -EAGAIN)
		return open_slowly(f, w, -1, ret);
	if (fd < 0)
		return fd;
	enum fstype type = fstype_of(f ? &f->types : NULL, fd, w->pid, &mode);
	int r = check_type(mode);
	if (r < 0)
		return r;
	switch (type) {
	case FSTYPE_LOCAL:
		return reopen(fd, ret);
	case FSTYPE_PSEUDO:
		return -ENXIO;
	case FSTYPE_REMOTE:
		break;
	}
	return w->flags & FOREIGN_NO_COPY ? -EREMOTE : open_slowly(f, w, fd, ret);
}

int foreign_open_folder(struct foreign *f, const struct foreign_want *w)
{
	mode_t mode;
	CLEANUP_CLOSE int fd = walk_fast(f, w);
	if (fd < 0)
		return fd == -EAGAIN ? -EREMOTE : fd;
	enum fstype type = fstype_of(f ? &f->types : NULL, fd, w->pid, &mode);
	if (!S_ISDIR(mode))
		return S_ISLNK(mode) ? -ELOOP : -ENOTDIR;
	return type == FSTYPE_LOCAL ? TAKE_FD(fd) : -EREMOTE;
}

int foreign_identify(const struct foreign_want *w, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct statx st;
	int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (*w->path ? 0 : AT_EMPTY_PATH) |
		    (w->flags & FOREIGN_MAGIC_LINKS ? 0 : AT_SYMLINK_NOFOLLOW);
	if (statx(w->dir_fd, w->path, flags, STATX_INO, &st) < 0)
		return -errno;
	*ret_device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	*ret_inode = st.stx_ino;
	return 0;
}
