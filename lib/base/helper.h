#ifndef CPROF_BASE_HELPER_H
#define CPROF_BASE_HELPER_H

/*
 * A process with a deadline, for what may wait for a server or a daemon: walking a path and reading
 * a file on FUSE, NFS and the like.  foreign.h and safeopen.h use it.
 *
 * Why a process and not a thread?  A thread that waits for a FUSE daemon cannot be killed once the
 * daemon has read the request, and a process does not end before its last thread.  So one file on
 * such a mount could keep cprof from ever ending.  The helper shares nothing with us: what is left
 * of it when we end is the kernel's business.  It sends no SIGCHLD, and only a wait with __WALL
 * sees it, so a program that uses the library does not notice it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

#define HELPER_STUCK_MAX 8         /* helpers that have not ended */
#define HELPER_COPY_BYTES_MAX ((uint64_t)256 << 20)
#define HELPER_ANSWER_BYTES_MAX 4096

/* What all helpers together have cost: one for a recording, so that not every file of a dead server
 * costs time.  All zeros at first. */
struct helper_cost {
	uint64_t missed_ns, waited_ns, n_copied_bytes;
	pid_t stuck[HELPER_STUCK_MAX];
	unsigned n_stuck;
};

struct helper_job {
	/* Runs in the helper, a copy of a process that may have threads: it may call only what a
	 * signal handler may call.  Fills the answer, and returns a descriptor to hand over, or
	 * -1.  copy_fd: an empty memfd for at most n_bytes_max. */
	int (*run)(void *ctx, void *answer, int copy_fd, uint64_t n_bytes_max);
	void *ctx;
	size_t n_answer_bytes;     /* at most HELPER_ANSWER_BYTES_MAX */
	int keep[2];               /* descriptors that run needs; -1: none */
};

/*
 * Runs the job.  Returns 0 with the answer and two descriptors: *ret_fd from run (-1: none), and
 * *ret_copy with what run has written to copy_fd.  -ETIMEDOUT: there was no answer in time, now or
 * before, or a signal that shall end the program is pending; or another -errno.  cost may be NULL.
 */
int helper_ask(struct helper_cost *cost, const struct helper_job *job, void *ret_answer,
	       int *ret_fd, int *ret_copy);

/* For run: copies the regular file that is open as fd, as long as it is now.  0 or -errno; -EFBIG:
 * it has more bytes.  *ret_st is its state. */
int helper_copy(int fd, int copy_fd, uint64_t n_bytes_max, struct stat *ret_st);

/* A helper that stays. */
struct helper_server {
	/* Runs in the helper, under the rules of helper_job.run, and returns when its end of a
	 * stream socket has no other end any more. */
	void (*serve)(void *ctx, int socket_fd);
	void *ctx;
	int keep_fd;               /* a descriptor that serve needs; -1: none */
};

/* Starts it.  Returns its id, with our end of the socket in *ret_fd, or -errno. */
pid_t helper_start(const struct helper_server *s, int *ret_fd);

/* Ends it, and never waits for one that is stuck.  It counts as stuck until helper_reap. */
void helper_end(struct helper_cost *cost, pid_t pid);

/* One answer through its socket, with the descriptor fd (-1: none).  helper_send may be called in
 * the helper.  helper_receive does not wait, and returns false if the helper has ended without an
 * answer of n bytes; *ret_fd stays as it is if there is no descriptor. */
void helper_send(int socket_fd, const void *answer, size_t n, int fd);
bool helper_receive(int socket_fd, void *ret, size_t n, int *ret_fd);

/* Has a signal come that shall end the program, and that the program holds back? */
bool helper_is_asked_to_end(void);

/* Waits for helpers that have ended. */
void helper_reap(struct helper_cost *cost);

#endif
