/*
 * Thousands of threads may be looked at when a recording begins, so that each file counts: the
 * folder of threads and the memory stay open from one thread of a process to the next.
 *
 * /proc/PID/task/TID/syscall (fs/proc/base.c, proc_pid_syscall) shows "running", or the number of
 * the system call, its six arguments, the stack pointer and the pc; for a thread that waits
 * elsewhere, as in a page fault, "-1" and the last two.  The stack is then read from
 * /proc/TID/mem.  If the line is the same before and after it, the thread has not moved in between,
 * except in a loop back to the same call, whose stack is then the same, too.
 */

#include "proc/threadread.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "source/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A line has nine numbers of up to 18 characters. */
#define LINE_BYTES_MAX 256
#define ATTEMPTS_MAX 3

static bool take_hex(const char **at, uint64_t *ret)
{
	char *end;
	if (strncmp(*at, " 0x", 3) != 0)
		return false;
	errno = 0;
	*ret = strtoull(*at + 3, &end, 16);
	bool ok = end != *at + 3 && errno == 0;
	*at = end;
	return ok;
}

bool threadread_parse(const char *line, struct threadread_call *ret)
{
	char *end;
	errno = 0;
	struct threadread_call c = { .syscall = strtol(line, &end, 10) };
	if (end == line || errno || c.syscall < -1)
		return false;
	const char *at = end;
	for (int i = 0; c.syscall >= 0 && i < 6; i++)
		if (!take_hex(&at, &c.arg[i]))
			return false;
	if (!take_hex(&at, &c.sp) || !take_hex(&at, &c.pc) || (*at && *at != '\n'))
		return false;
	*ret = c;
	return true;
}

static bool open_process(const struct host *h, uint32_t pid, struct threadread *t)
{
	if (t->open_pid == pid)
		return true;
	threadread_close(t);
	t->task_fd = host_open_file(h, HOST_PROC, O_PATH | O_DIRECTORY, "%u/task", pid);
	if (t->task_fd < 0)
		return false;
	t->open_pid = pid;
	return true;
}

char threadread_state(const char *stat)
{
	/* The name may contain parentheses. */
	const char *end = strrchr(stat, ')');
	return end && end[1] == ' ' ? end[2] : '\0';
}

void threadread_close(struct threadread *t)
{
	if (!t->open_pid)
		return;
	close(t->task_fd);
	t->open_pid = 0;
}

/* Reads the start of a thread's file as text.  The number of bytes or -errno. */
static ssize_t read_text(const struct threadread *t, uint32_t tid, const char *name, char *text,
			 size_t n_bytes)
{
	char path[32];
	snprintf(path, sizeof(path), "%u/%s", tid, name);
	CLEANUP_CLOSE int fd = openat(t->task_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, n_bytes - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n;
}

/* The same for a file whose readers the process can hold back (remotemem.h). */
static long read_guarded(const struct host *h, const struct threadread *t, uint32_t tid,
			 const char *name, char *text, size_t n_bytes)
{
	char path[40];
	if (remotemem_is_direct(h->memory, t->open_pid))
		return read_text(t, tid, name, text, n_bytes);
	snprintf(path, sizeof(path), "task/%u/%s", tid, name);
	return host_read_process_line(h, t->open_pid, path, text, n_bytes);
}

static int read_line(const struct host *h, const struct threadread *t, uint32_t tid,
		     char line[LINE_BYTES_MAX])
{
	long n = read_guarded(h, t, tid, "syscall", line, LINE_BYTES_MAX);
	return n < 0 ? (int)n : n ? 0 : -ESRCH;
}

/* Calls in which signals end the wait, or which wait for a child until it executes a program. */
static bool is_never_disk(long syscall)
{
	static const long number[] = {
		SYS_futex, SYS_clock_nanosleep, SYS_nanosleep, SYS_ppoll, SYS_pselect6,
		SYS_epoll_pwait, SYS_wait4, SYS_waitid, SYS_accept4, SYS_recvfrom, SYS_recvmsg,
		SYS_clone, SYS_clone3, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_restart_syscall,
#ifdef SYS_pause
		SYS_pause, SYS_poll, SYS_select, SYS_epoll_wait, SYS_vfork,
#endif
	};
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++)
		if (number[i] == syscall)
			return true;
	return false;
}

/* In uninterruptible sleep? */
static bool is_disk(const struct host *h, const struct threadread *t, uint32_t tid)
{
	char text[512];
	if (is_never_disk(t->call.syscall) ||
	    read_guarded(h, t, tid, "stat", text, sizeof(text)) <= 0)
		return false;
	return threadread_state(text) == 'D';
}

static size_t stack_bytes(const struct threadread *t)
{
	return t->long_stack ? THREADREAD_STACK_BYTES_MAX : THREADREAD_STACK_BYTES;
}

static size_t read_stack(const struct host *h, uint32_t tid, uint64_t sp, struct threadread *t)
{
	const struct iovec local = { t->stack, stack_bytes(t) };
	const struct iovec remote = { (void *)(uintptr_t)sp, stack_bytes(t) };
	/* Whom to trust is known of the process.  Its main thread may have ended. */
	long n = remotemem_read(h->memory, t->open_pid, &local, 1, &remote, 1);
	if (n == -ESRCH)
		n = remotemem_read(h->memory, tid, &local, 1, &remote, 1);
	return n > 0 ? (size_t)n & ~(size_t)7 : 0;
}

/* -EAGAIN: it has moved. */
static int check_line(const struct host *h, const struct threadread *t, uint32_t tid,
		      const char *line)
{
	char again[LINE_BYTES_MAX];
	if (t->has_records)
		return 0;
	int r = read_line(h, t, tid, again);
	return r < 0 ? r : strcmp(line, again) == 0 ? 0 : -EAGAIN;
}

/* Into t->reg.  Returns the mask. */
static uint64_t pack_regs(struct threadread *t, const struct callregs_numbers *n)
{
	struct callregs r = { .mask = 0 };
	if (t->call.syscall >= 0)
		callregs_set_args(&r, n, t->call.arg);
	callregs_set(&r, n->sp, t->call.sp);
	callregs_set(&r, n->pc, t->call.pc);
	callregs_pack(&r, t->reg);
	return r.mask;
}

int threadread_look(const struct host *h, uint32_t pid, uint32_t tid,
		    const struct callregs_numbers *regs, struct threadread *t,
		    struct record *ret_sample)
{
	char line[LINE_BYTES_MAX] = "";
	struct record r = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .has_time = true,
		.event = RECORD_NO_EVENT, .cpu = UINT32_MAX, .pid = pid, .tid = tid,
	};
	if (!open_process(h, pid, t))
		return -ESRCH;
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		t->from_ns = clock_monotonic_ns();
		t->is_waiting = t->is_disk = false;
		t->call = (struct threadread_call){ .syscall = -1 };
		int code = read_line(h, t, tid, line);
		if (code < 0)
			return code;
		if (!threadread_parse(line, &t->call))
			break;  /* it runs */
		t->is_disk = is_disk(h, t, tid);
		size_t n = read_stack(h, tid, t->call.sp, t);
		code = check_line(h, t, tid, line);
		if (code == -EAGAIN)
			continue;
		if (code < 0)
			return code;
		t->is_waiting = true;
		uint64_t mask = pack_regs(t, regs);
		r.sample = (struct record_sample){
			.ip = t->call.pc, .user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs = t->reg,
			.user_regs_mask = mask,
			.user_stack = n ? (const uint8_t *)t->stack : NULL,
			.n_user_stack_bytes = n, .user_stack_size = stack_bytes(t),
		};
		break;
	}
	t->to_ns = clock_monotonic_ns();
	r.time_ns = t->to_ns;
	*ret_sample = r;
	return t->is_waiting || strncmp(line, "running", 7) == 0 ? 0 : -EAGAIN;
}

size_t threadread_stack(const struct host *h, uint32_t pid, uint32_t tid, uint64_t sp,
			struct threadread *t)
{
	return open_process(h, pid, t) ? read_stack(h, tid, sp, t) : 0;
}

/* kernel/sched/stats.h: "run wait runs"; Documentation/scheduler/sched-stats.rst. */
bool threadread_parse_times(const char *line, struct threadread_times *ret)
{
	unsigned long long v[3];
	char *end;
	for (size_t i = 0; i < 3; i++) {
		if (*line < '0' || *line > '9')
			return false;
		errno = 0;
		v[i] = strtoull(line, &end, 10);
		if (errno || (i < 2 && *end != ' ') || (i == 2 && *end && *end != '\n'))
			return false;
		line = end + 1;
	}
	*ret = (struct threadread_times){ v[0], v[1], v[2] };
	return true;
}

int threadread_times(const struct host *h, uint32_t pid, uint32_t tid, struct threadread *t,
		     struct threadread_times *ret)
{
	char line[LINE_BYTES_MAX];
	if (!open_process(h, pid, t))
		return -ESRCH;
	ssize_t n = read_text(t, tid, "schedstat", line, sizeof(line));
	return n < 0 ? (int)n : threadread_parse_times(line, ret) ? 0 : -EINVAL;
}
