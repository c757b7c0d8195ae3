/*
 * Opening a file in /proc costs several times as much as reading it.  So two files of each thread
 * are opened before the snapshot begins, as far as the limit on descriptors allows, and the
 * snapshot proper is three passes of short reads: the counts, the system calls with the stacks, and
 * the counts again.  Names and other details follow afterwards; they belong to a stack if the
 * thread has still not run.  A pass may be divided between idle CPUs, but ends before the next.
 */

#include "snapshot/threadscan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE_BYTES_MAX 256
#define ATTEMPTS_MAX 20u
#define STACKS_AT_ONCE 64u
#define FDS_KEPT_FREE 256u              /* for files of targets, and for the caller */
#define FDS_DEFAULT 1024u

/* ---- files ---------------------------------------------------------------------------------- */

static size_t fds_max(void)
{
	struct rlimit l;
	size_t n = getrlimit(RLIMIT_NOFILE, &l) < 0 ? FDS_DEFAULT : (size_t)l.rlim_cur;
	return n / 2 > FDS_KEPT_FREE ? n - FDS_KEPT_FREE : n / 2;
}

void threadscan_init(struct threadscan *s, const struct host *h,
		     const struct threadscan_limits *limits)
{
	*s = (struct threadscan){
		.host = h, .n_fds_max = fds_max(), .n_threads_max = limits->n_threads,
		.end_ns = clock_monotonic_ns() + limits->time_ns,
	};
	crew_init(&s->crew, h);
}

void threadscan_each(struct threadscan *s, crew_fn *fn)
{
	/* only one thread may read texts through the helper of guarded processes */
	if (s->is_guarded)
		fn(s, 0, s->threads.n);
	else
		crew_run(&s->crew, s->threads.n, fn, s);
}

static size_t stacks_bytes(const struct threadscan *s)
{
	return s->threads.n * THREADSCAN_STACK_BYTES;
}

static void close_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	for (size_t i = first; i < end; i++) {
		free(s->threads.v[i].wait_on);
		if (s->threads.v[i].schedstat_fd >= 0)
			close(s->threads.v[i].schedstat_fd);
		if (s->threads.v[i].syscall_fd >= 0)
			close(s->threads.v[i].syscall_fd);
	}
}

void threadscan_done(struct threadscan *s)
{
	threadscan_each(s, close_part);
	crew_done(&s->crew);
	for (size_t i = 0; i < s->processes.n; i++) {
		close(s->processes.v[i].task_fd);
		targetmem_close(&s->processes.v[i].memory);
	}
	if (s->stacks)
		munmap(s->stacks, stacks_bytes(s));
	VEC_FREE(&s->threads);
	VEC_FREE(&s->processes);
	*s = (struct threadscan){ .host = NULL };
}

static int open_file(const struct threadscan *s, const struct threadscan_thread *t,
		     const char *name)
{
	char path[48];
	snprintf(path, sizeof(path), "%u/%s", t->tid, name);
	int fd = openat(s->processes.v[t->process].task_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Keeps the file open if there are descriptors left. */
static int keep_file(struct threadscan *s, const struct threadscan_thread *t, const char *name)
{
	if (__atomic_add_fetch(&s->n_fds, 1, __ATOMIC_RELAXED) > s->n_fds_max)
		return -EMFILE;
	return open_file(s, t, name);
}

static long read_text(int fd, char *text, size_t n_bytes)
{
	ssize_t n = pread(fd, text, n_bytes - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n ? n : -ESRCH;
}

/* Can the process hold back readers of this file (remotemem.h)? */
static bool is_guarded(const struct threadscan *s, const struct threadscan_thread *t,
		       const char *name)
{
	return !s->processes.v[t->process].is_direct &&
	       (strcmp(name, "syscall") == 0 || strcmp(name, "stat") == 0 ||
		strcmp(name, "wchan") == 0);
}

long threadscan_text(const struct threadscan *s, const struct threadscan_thread *t,
		     const char *name, char *text, size_t n_bytes)
{
	char path[48];
	if (is_guarded(s, t, name)) {
		snprintf(path, sizeof(path), "task/%u/%s", t->tid, name);
		long n = host_read_process_line(s->host, s->processes.v[t->process].pid, path,
						text, n_bytes);
		return n ? n : -ESRCH;
	}
	CLEANUP_CLOSE int fd = open_file(s, t, name);
	return fd < 0 ? fd : read_text(fd, text, n_bytes);
}

static bool is_late(const struct threadscan *s)
{
	return clock_monotonic_ns() > s->end_ns;
}

/* ---- the list ------------------------------------------------------------------------------- */

int threadscan_add(struct threadscan *s, uint32_t pid)
{
	CLEANUP_FREE pid_t *tids = NULL;
	CLEANUP_CLOSE int task_fd = host_open_file(s->host, HOST_PROC, O_PATH | O_DIRECTORY,
						   "%u/task", pid);
	int n = task_fd < 0 ? task_fd : synth_list(s->host, (pid_t)pid, &tids);
	if (n <= 0)
		return n == 0 || n == -ENOENT ? -ESRCH : n;
	struct threadscan_process p = {
		.pid = pid, .task_fd = task_fd, .first = s->threads.n, .memory.pagemap_fd = -1,
		.is_direct = remotemem_is_direct(s->host->memory, pid),
	};
	if (!VEC_PUSH(&s->processes, p))
		return -ENOMEM;
	TAKE_FD(task_fd);
	s->is_guarded |= !p.is_direct;
	for (int i = 0; i < n; i++) {
		if (s->threads.n >= s->n_threads_max || clock_monotonic_ns() > s->end_ns) {
			s->n_beyond += (uint64_t)(n - i);
			break;
		}
		const struct threadscan_thread t = {
			.process = (uint32_t)s->processes.n - 1, .tid = (uint32_t)tids[i],
			.schedstat_fd = -1, .syscall_fd = -1,
		};
		if (!VEC_PUSH(&s->threads, t))
			return -ENOMEM;
	}
	struct threadscan_process *added = &s->processes.v[s->processes.n - 1];
	added->n = s->threads.n - added->first;
	threadscan_note_program(s, added);
	targetmem_open(&added->memory, s->host, pid, host_live_thread(s->host, pid));
	return 0;
}

static void open_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	for (size_t i = first; i < end && !is_late(s); i++) {
		struct threadscan_thread *t = &s->threads.v[i];
		t->schedstat_fd = keep_file(s, t, "schedstat");
		if (is_guarded(s, t, "syscall"))
			continue;
		t->syscall_fd = keep_file(s, t, "syscall");
		if (t->syscall_fd == -EACCES || t->syscall_fd == -EPERM)
			t->look = THREADSCAN_DENIED;
	}
}

/* While a process has several threads, its table of descriptors grows only after a grace period of
 * the kernel, which takes milliseconds, each time that it is doubled.  So it grows once, here. */
static void make_room_for_files(const struct threadscan *s)
{
	size_t n = 2 * s->threads.n < s->n_fds_max ? 2 * s->threads.n : s->n_fds_max;
	int fd = s->processes.n ? fcntl(s->processes.v[0].task_fd, F_DUPFD_CLOEXEC, (int)n) : -1;
	if (fd >= 0)
		close(fd);
}

void threadscan_open(struct threadscan *s)
{
	make_room_for_files(s);
	threadscan_each(s, open_part);
}

/* ---- the snapshot --------------------------------------------------------------------------- */

static long read_file(const struct threadscan *s, const struct threadscan_thread *t, int kept_fd,
		      const char *name, char line[LINE_BYTES_MAX])
{
	return kept_fd >= 0 ? read_text(kept_fd, line, LINE_BYTES_MAX)
			    : threadscan_text(s, t, name, line, LINE_BYTES_MAX);
}

static enum threadscan_look look_of_error(long code)
{
	return code == -EACCES || code == -EPERM ? THREADSCAN_DENIED
	     : code == -ETIMEDOUT ? THREADSCAN_UNANSWERED : THREADSCAN_ENDED;
}

/* False: it has ended. */
static bool read_times(const struct threadscan *s, const struct threadscan_thread *t,
		       struct threadread_times *ret)
{
	char line[LINE_BYTES_MAX];
	return read_file(s, t, t->schedstat_fd, "schedstat", line) > 0 &&
	       threadread_parse_times(line, ret);
}

static bool is_same(const struct threadread_times *a, const struct threadread_times *b)
{
	return a->n_runs == b->n_runs && a->run_ns == b->run_ns;
}

bool threadscan_is_still(const struct threadscan *s, const struct threadscan_thread *t)
{
	struct threadread_times now;
	return read_times(s, t, &now) && is_same(&now, &t->times);
}

static void read_call(const struct threadscan *s, struct threadscan_thread *t)
{
	char line[LINE_BYTES_MAX];
	long n = read_file(s, t, t->syscall_fd, "syscall", line);
	if (n < 0)
		t->look = look_of_error(n);
	else
		t->look = threadread_parse(line, &t->call) ? THREADSCAN_STILL : THREADSCAN_RUNNING;
}

static bool has_stack(const struct threadscan_thread *t, bool only_stopped)
{
	return only_stopped ? t->stop != 0 : t->look == THREADSCAN_STILL;
}

/* The stacks of the waiting ones among up to STACKS_AT_ONCE threads of a process. */
static void read_stacks(struct threadscan *s, struct threadscan_process *p, size_t first, size_t n,
			bool only_stopped)
{
	struct targetmem_piece piece[STACKS_AT_ONCE];
	size_t n_pieces = 0;
	for (size_t i = first; i < first + n; i++)
		if (has_stack(&s->threads.v[i], only_stopped))
			piece[n_pieces++] = (struct targetmem_piece){
				.address = s->threads.v[i].call.sp, .to = threadscan_stack(s, i),
				.n_bytes = THREADSCAN_STACK_BYTES,
			};
	int code = targetmem_read(&p->memory, piece, n_pieces);
	if (code < 0)
		__atomic_store_n(&p->code, code, __ATOMIC_RELAXED);
	n_pieces = 0;
	for (size_t i = first; i < first + n; i++)
		if (has_stack(&s->threads.v[i], only_stopped))
			s->threads.v[i].n_stack_bytes =
				code < 0 ? 0 : piece[n_pieces++].n_read & ~7u;
}

static void read_stacks_of_all(struct threadscan *s, size_t first, size_t end, bool only_stopped)
{
	for (size_t i = first, n; i < end; i += n) {
		struct threadscan_process *p = &s->processes.v[s->threads.v[i].process];
		size_t last = p->first + p->n < end ? p->first + p->n : end;
		n = last - i < STACKS_AT_ONCE ? last - i : STACKS_AT_ONCE;
		read_stacks(s, p, i, n, only_stopped);
	}
}

/* Reads a thread that has moved until it does not move meanwhile. */
static void read_again(struct threadscan *s, size_t at)
{
	struct threadscan_thread *t = &s->threads.v[at];
	for (unsigned i = 0; i < ATTEMPTS_MAX && !is_late(s); i++) {
		if (!read_times(s, t, &t->times)) {
			t->look = THREADSCAN_ENDED;
			return;
		}
		read_call(s, t);
		if (t->look != THREADSCAN_STILL)
			return;
		read_stacks(s, &s->processes.v[t->process], at, 1, false);
		if (threadscan_is_still(s, t)) {
			t->look = THREADSCAN_MOVED;
			return;
		}
	}
	t->look = THREADSCAN_MOVING;
}

static void stopped_stacks_part(void *ctx, size_t first, size_t end)
{
	read_stacks_of_all(ctx, first, end, true);
}

void threadscan_stacks(struct threadscan *s)
{
	threadscan_each(s, stopped_stacks_part);
}

static void times_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	for (size_t i = first; i < end && !is_late(s); i++) {
		struct threadscan_thread *t = &s->threads.v[i];
		if (t->look == THREADSCAN_UNREAD && !read_times(s, t, &t->times))
			t->look = THREADSCAN_ENDED;
	}
}

static void calls_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	for (size_t n; first < end; first += n) {
		n = end - first < STACKS_AT_ONCE ? end - first : STACKS_AT_ONCE;
		for (size_t i = first; i < first + n && !is_late(s); i++)
			if (s->threads.v[i].look == THREADSCAN_UNREAD)
				read_call(s, &s->threads.v[i]);
		read_stacks_of_all(s, first, first + n, false);
	}
}

static void check_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	for (size_t i = first; i < end; i++) {
		struct threadscan_thread *t = &s->threads.v[i];
		t->has_moved = t->look == THREADSCAN_STILL && !threadscan_is_still(s, t);
	}
}

int threadscan_take(struct threadscan *s)
{
	size_t n = s->threads.n;
	void *stacks = n ? mmap(NULL, stacks_bytes(s), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
	if (stacks == MAP_FAILED)
		return -ENOMEM;
	/* fewer page faults; otherwise each thread costs two */
	if (stacks)
		madvise(stacks, stacks_bytes(s), MADV_HUGEPAGE);
	s->stacks = stacks;
	s->from_ns = clock_monotonic_ns();
	threadscan_each(s, times_part);
	threadscan_each(s, calls_part);
	threadscan_leave_cpus(s);
	threadscan_each(s, check_part);
	s->to_ns = clock_monotonic_ns();
	for (size_t i = 0; i < n; i++)
		if (s->threads.v[i].has_moved)
			read_again(s, i);
	return 0;
}

void threadscan_again(struct threadscan *s, size_t thread)
{
	struct threadscan_thread *t = &s->threads.v[thread];
	read_again(s, thread);
	if (t->look != THREADSCAN_ENDED)
		threadscan_read_details(s, t);
}

uint32_t threadscan_memory(struct threadscan *s, const struct threadscan_thread *t,
			   uint64_t address, void *buf, uint32_t n_bytes)
{
	struct targetmem_piece piece = { .address = address, .to = buf, .n_bytes = n_bytes };
	if (targetmem_read(&s->processes.v[t->process].memory, &piece, 1) < 0 ||
	    (!t->stop && !threadscan_is_still(s, t)))
		return 0;
	return piece.n_read & ~7u;
}
