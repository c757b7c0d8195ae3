/*
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
#include "source/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool threadread_parse(const char *line, long *ret_syscall, uint64_t *ret_sp, uint64_t *ret_pc)
{
	char *end;
	uint64_t arg;
	errno = 0;
	long number = strtol(line, &end, 10);
	if (end == line || errno || number < -1)
		return false;
	const char *at = end;
	for (int i = 0; number >= 0 && i < 6; i++)
		if (!take_hex(&at, &arg))
			return false;
	if (!take_hex(&at, ret_sp) || !take_hex(&at, ret_pc) || (*at && *at != '\n'))
		return false;
	*ret_syscall = number;
	return true;
}

static int read_line(const struct host *h, uint32_t pid, uint32_t tid, char line[LINE_BYTES_MAX])
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "%u/task/%u/syscall", pid,
					      tid);
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, line, LINE_BYTES_MAX - 1);
	if (n < 0)
		return -errno;
	line[n] = '\0';
	return n ? 0 : -ESRCH;
}

char threadread_state(const char *stat)
{
	/* The name may contain parentheses. */
	const char *end = strrchr(stat, ')');
	return end && end[1] == ' ' ? end[2] : '\0';
}

static char state_of(const struct host *h, uint32_t pid, uint32_t tid)
{
	char text[512];
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "%u/task/%u/stat", pid, tid);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return threadread_state(text);
}

static size_t read_stack(const struct host *h, uint32_t tid, uint64_t sp, struct threadread *t)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "%u/mem", tid);
	ssize_t n = fd < 0 ? 0 : pread(fd, t->stack, sizeof(t->stack), (off_t)sp);
	return n > 0 ? (size_t)n & ~(size_t)7 : 0;
}

int threadread_look(const struct host *h, uint32_t pid, uint32_t tid, struct threadread_regs regs,
		    struct threadread *t, struct record *ret_sample)
{
	char line[LINE_BYTES_MAX], again[LINE_BYTES_MAX];
	struct record r = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .has_time = true,
		.event = RECORD_NO_EVENT, .cpu = UINT32_MAX, .pid = pid, .tid = tid,
	};
	uint64_t sp, pc;
	for (int i = 0; i < ATTEMPTS_MAX; i++) {
		t->from_ns = clock_monotonic_ns();
		t->is_waiting = t->is_disk = false;
		t->syscall = -1;
		int code = read_line(h, pid, tid, line);
		if (code < 0)
			return code;
		if (!threadread_parse(line, &t->syscall, &sp, &pc))
			break;  /* it runs */
		t->is_disk = state_of(h, pid, tid) == 'D';
		size_t n = read_stack(h, tid, sp, t);
		code = read_line(h, pid, tid, again);
		if (code < 0)
			return code;
		if (strcmp(line, again) != 0)
			continue;
		t->is_waiting = true;
		t->reg[regs.sp > regs.pc] = sp;
		t->reg[regs.sp < regs.pc] = pc;
		r.sample = (struct record_sample){
			.ip = pc, .user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs = t->reg,
			.user_regs_mask = UINT64_C(1) << regs.sp | UINT64_C(1) << regs.pc,
			.user_stack = n ? (const uint8_t *)t->stack : NULL,
			.n_user_stack_bytes = n, .user_stack_size = sizeof(t->stack),
		};
		break;
	}
	t->to_ns = clock_monotonic_ns();
	r.time_ns = t->to_ns;
	*ret_sample = r;
	return t->is_waiting || strncmp(line, "running", 7) == 0 ? 0 : -EAGAIN;
}
