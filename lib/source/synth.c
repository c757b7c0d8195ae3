/*
 * Opens one folder per process, then one file per thread: attaching to a thousand threads takes a
 * few milliseconds.
 */

#include "source/synth.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/vec.h"
#include "source/maps.h"
#include "source/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* TASK_COMM_LEN is 16; kernel threads show up to 64 bytes (kworker/0:1-events). */
#define COMM_BYTES_MAX 128

/* s as a decimal number; 0 if it is not one, or not a possible id. */
static pid_t parse_id(const char *s)
{
	long x = 0;
	if (*s == '0')
		return 0;
	for (; *s >= '0' && *s <= '9'; s++) {
		x = x * 10 + (*s - '0');
		if (x > INT32_MAX)
			return 0;
	}
	return *s ? 0 : (pid_t)x;
}

int synth_list(const struct host *h, pid_t pid, pid_t **ret_ids)
{
	int fd = pid ? host_open_file(h, HOST_PROC, O_RDONLY | O_DIRECTORY, "%d/task", pid)
		     : host_open_file(h, HOST_PROC, O_RDONLY | O_DIRECTORY, ".");
	if (fd < 0)
		return fd;
	CLEANUP_CLOSEDIR DIR *dir = fdopendir(fd);
	if (!dir) {
		int r = -errno;
		close(fd);
		return r;
	}
	VEC(pid_t) ids = { 0 };
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry) {
			/* The process ended meanwhile: return what was listed. */
			if (errno && errno != ENOENT && errno != ESRCH) {
				int r = -errno;
				VEC_FREE(&ids);
				return r;
			}
			break;
		}
		pid_t id = parse_id(entry->d_name);
		if (id && !VEC_PUSH(&ids, id)) {
			VEC_FREE(&ids);
			return -ENOMEM;
		}
	}
	*ret_ids = ids.v;
	return (int)ids.n;
}

static struct record record_of(pid_t pid, pid_t tid, uint32_t type, uint64_t time_ns)
{
	return (struct record){
		.type = type, .misc = PERF_RECORD_MISC_USER, .event = RECORD_NO_EVENT,
		.has_time = true, .time_ns = time_ns,
		.pid = (uint32_t)pid, .tid = (uint32_t)tid, .cpu = UINT32_MAX,
	};
}

static void give_comm(int task_fd, pid_t pid, pid_t tid, uint64_t time_ns, synth_sink_fn *sink,
		      void *ctx)
{
	char path[32], comm[COMM_BYTES_MAX];
	snprintf(path, sizeof(path), "%d/comm", tid);
	CLEANUP_CLOSE int fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, comm, sizeof(comm) - 1);
	if (n <= 0)
		return;
	n -= comm[n - 1] == '\n';
	comm[n] = '\0';
	struct record r = record_of(pid, tid, PERF_RECORD_COMM, time_ns);
	r.comm = (struct record_comm){ .comm = comm };
	sink(ctx, &r);
}

void synth_thread(const struct host *h, pid_t pid, pid_t tid, uint64_t time_ns,
		  synth_sink_fn *sink, void *ctx)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_PATH | O_DIRECTORY, "%d/task", pid);
	if (fd >= 0)
		give_comm(fd, pid, tid, time_ns, sink, ctx);
}

static int give_comms(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink,
		      void *ctx)
{
	CLEANUP_CLOSE int task_fd = host_open_file(h, HOST_PROC, O_PATH | O_DIRECTORY, "%d/task",
						   pid);
	CLEANUP_FREE pid_t *tids = NULL;
	int n = task_fd < 0 ? task_fd : synth_list(h, pid, &tids);
	if (n < 0)
		return n;
	give_comm(task_fd, pid, pid, time_ns, sink, ctx);
	for (int i = 0; i < n; i++) {
		if (tids[i] != pid)
			give_comm(task_fd, pid, tids[i], time_ns, sink, ctx);
	}
	return 0;
}

static int give_maps(const struct host *h, pid_t pid, uint64_t time_ns, bool only_code,
		     synth_sink_fn *sink, void *ctx)
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_process_file(h, (uint32_t)pid, "maps", &text, NULL);
	if (r < 0)
		return r;
	if (!*text) {
		/* A kernel thread, or a main thread that ended before the others. */
		uint32_t tid = host_live_thread(h, (uint32_t)pid);
		free(TAKE_PTR(text));
		r = host_read_process_file(h, tid, "maps", &text, NULL);
		if (r < 0)
			return r;
	}
	char *at = text;
	struct maps_entry m;
	while (maps_next(&at, &m)) {
		if (only_code && !(m.prot & PROT_EXEC))
			continue;
		struct record map = record_of(pid, pid, PERF_RECORD_MMAP2, time_ns);
		map.mmap = (struct record_mmap){
			.start = m.start, .len = m.end - m.start, .pgoff = m.pgoff,
			.maj = m.maj, .min = m.min, .ino = m.ino,
			.prot = m.prot, .flags = m.flags, .filename = m.name,
		};
		sink(ctx, &map);
	}
	return 0;
}

int synth_process(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink, void *ctx)
{
	int r = give_comms(h, pid, time_ns, sink, ctx);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = give_maps(h, pid, time_ns, true, sink, ctx);
	/* It ended after its names were read: those suffice. */
	return r == -ENOENT || r == -ESRCH ? 0 : r == -EPERM ? -EACCES : r;
}

int synth_maps(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink, void *ctx)
{
	return give_maps(h, pid, time_ns, false, sink, ctx);
}
