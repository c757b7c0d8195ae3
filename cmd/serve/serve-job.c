/*
 * As in cprof record, a child writes each part but the last, so that the reader of the rings need
 * not wait for names.  There is one such child at a time.
 */
#include "cmd/serve/serve-job.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/childnames.h"
#include "cmd/hintwords.h"
#include "cmd/nofile.h"
#include "cmd/realtime.h"
#include "cmd/serve/request.h"
#include "cmd/snapshot/snapshot-go.h"
#include "cprof-snapshot.h"
#include "cprof.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The longest time that records stay in a ring that is not full enough for a wake-up. */
#define STEP_MS 100

struct job {
	struct cprof_config config;
	struct cprof_recorder *recorder;
	struct realtime realtime;
	VEC(pid_t) pids;
	const char *event;
	unsigned debug;
	bool wants_cut, wants_stop, over;
	pid_t writer;                   /* 0: none */
	int writer_fd;                  /* its end is the writer's; -1 */
	int names_fd;                   /* the names that it looks up (childnames.h); -1 */
};

/* ---- to the server ------------------------------------------------------------------- */

static void send_note(enum serve_note_kind kind, const struct err *why)
{
	struct serve_note note = { .kind = kind };
	if (why)
		note.why = *why;
	send(SERVE_JOB_CONTROL, &note, sizeof(note), MSG_NOSIGNAL);
}

static uint64_t own_cpu_ns(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static bool write_all(const void *data, size_t n)
{
	const char *p = data;
	while (n > 0) {
		ssize_t got = write(SERVE_JOB_DATA, p, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static int append(void *ctx, const void *data, size_t n)
{
	FILE *to = ctx;
	return fwrite(data, 1, n, to) == n ? 0 : -ENOMEM;
}

static int print_result(const struct job *j, FILE *to, struct err *e)
{
	if (j->debug == 1)
		return snapshot_go_counts(j->recorder, to);
	if (j->debug == 2) {
		snapshot_go_stacks(j->recorder, to);
		return 0;
	}
	return cprof_recorder_write(j->recorder, 0, append, to, e);
}

/* before_ns: CPU time of the recording that this process has not used. */
static int send_part(const struct job *j, uint64_t before_ns, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;
	struct cprof_event_stats ev;
	FILE *to = open_memstream(&text, &n);
	int r = to ? print_result(j, to, e) : -ENOMEM;
	if (to && fclose(to) != 0)
		r = -ENOMEM;
	if (r < 0)
		return e->code ? r : err_errno(e, -r, "cannot write the profile");
	cprof_recorder_event_stats(j->recorder, 0, &ev);
	struct serve_frame frame = {
		.n_bytes = n, .n_samples = ev.n_samples, .n_lost = ev.n_lost,
		.cpu_ns = before_ns + own_cpu_ns(),
	};
	if (!write_all(&frame, sizeof(frame)) || !write_all(text, n))
		return err_errno(e, EPIPE, "cannot send the profile");
	return 0;
}

/* ---- parts --------------------------------------------------------------------------- */

static int reap_writer(struct job *j, struct err *e)
{
	int status = 0;
	while (waitpid(j->writer, &status, 0) < 0 && errno == EINTR)
		;
	close(j->writer_fd);
	childnames_take(j->names_fd, j->recorder);
	j->writer_fd = -1;
	j->writer = 0;
	return status == 0 ? 0 : err_set(e, EIO, "a part of the profile could not be written");
}

static int begin_part(struct job *j, struct err *e)
{
	int fd[2];
	int r = cprof_recorder_snapshot(j->recorder, e);
	if (r < 0)
		return r;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_errno(e, errno, "cannot write a part of the profile");
	uint64_t cpu_ns = own_cpu_ns();
	j->names_fd = childnames_open();
	j->writer = fork();
	if (j->writer == 0) {
		close(fd[0]);
		r = send_part(j, cpu_ns, e);
		childnames_send(j->names_fd, j->recorder);
		_exit(r < 0);
	}
	close(fd[1]);
	j->writer_fd = fd[0];
	if (j->writer < 0)
		return err_errno(e, errno, "cannot write a part of the profile");
	j->wants_cut = false;
	r = cprof_recorder_clear(j->recorder, e);
	if (r == 0)
		send_note(SERVE_NOTE_CUT, NULL);
	return r;
}

static void take_commands(struct job *j)
{
	char command;
	ssize_t n;
	while ((n = recv(SERVE_JOB_CONTROL, &command, 1, MSG_DONTWAIT)) > 0) {
		j->wants_cut |= command == SERVE_JOB_CUT;
		j->wants_stop |= command == SERVE_JOB_STOP;
	}
	/* Nobody waits for the result any more. */
	if (n == 0)
		_exit(0);
}

static int step(struct job *j, struct err *e)
{
	int fds[2] = { SERVE_JOB_CONTROL, j->writer_fd };
	bool ready[2] = { false };
	int state = cprof_recorder_step(j->recorder, STEP_MS, fds, j->writer ? 2 : 1, ready, e);
	if (state < 0)
		return state;
	j->wants_stop |= state == CPROF_TARGET_GONE;
	if (ready[0])
		take_commands(j);
	int r = j->writer && ready[1] ? reap_writer(j, e) : 0;
	if (r < 0 || j->writer)
		return r;
	if (j->wants_cut)
		return begin_part(j, e);
	j->over = j->wants_stop;
	return 0;
}

/* ---- recordings ---------------------------------------------------------------------- */

static int record(struct job *j, struct err *e)
{
	realtime_start(&j->realtime, true, REALTIME_LOOK_NS);
	realtime_raise(&j->realtime);
	int r = cprof_recorder_start(j->recorder, e);
	if (r < 0)
		return r;
	send_note(SERVE_NOTE_BEGAN, NULL);
	while (!j->over) {
		r = step(j, e);
		if (r < 0)
			return r;
	}
	r = cprof_recorder_stop(j->recorder, e);
	realtime_lower(&j->realtime);
	return r < 0 ? r : send_part(j, 0, e);
}

static int take_snapshot(struct job *j, struct err *e)
{
	int r = cprof_recorder_start(j->recorder, e);
	if (r < 0)
		return r;
	send_note(SERVE_NOTE_BEGAN, NULL);
	r = cprof_recorder_snapshot(j->recorder, e);
	if (r == 0)
		r = cprof_snapshot_names(j->recorder, e);
	return r < 0 ? r : send_part(j, 0, e);
}

static int run_job(struct job *j, bool is_snapshot, struct err *e)
{
	int r = cprof_recorder_new(&j->config, &j->recorder, e);
	if (r < 0)
		return r;
	if (cprof_recorder_n_events(j->recorder) != 1)
		return err_usage(e, "event=%s: these are several events; ask for one at a time",
				 j->event);
	return is_snapshot ? take_snapshot(j, e) : record(j, e);
}

static const struct cprof_kind *find_kind(enum request_what what)
{
	switch (what) {
	case REQUEST_ALLOC: return cprof_alloc_recorder();
	case REQUEST_HEAP: return cprof_heap_recorder();
	case REQUEST_THREADS: return cprof_snapshot_recorder();
	case REQUEST_GOROUTINES: return cprof_goroutine_recorder();
	case REQUEST_EVENT: break;
	}
	return NULL;
}

static bool take_pids(struct job *j, char *list)
{
	char *rest = NULL;
	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (!VEC_PUSH(&j->pids, (pid_t)strtol(word, NULL, 10)))
			return false;
	return true;
}

int serve_job_main(char **argv)
{
	struct job j = { .writer_fd = -1, .event = argv[SERVE_JOB_EVENT] };
	struct err e = { 0 };
	enum request_what what = (enum request_what)atoi(argv[SERVE_JOB_WHAT]);
	const char *rate = argv[SERVE_JOB_RATE];
	bool is_snapshot = what == REQUEST_THREADS || what == REQUEST_GOROUTINES;
	CLEANUP_FREE char *cache = cachedir_path();
	signal(SIGPIPE, SIG_IGN);
	nofile_raise();
	fcntl(SERVE_JOB_CONTROL, F_SETFD, FD_CLOEXEC);
	fcntl(SERVE_JOB_DATA, F_SETFD, FD_CLOEXEC);
	j.debug = (unsigned)atoi(argv[SERVE_JOB_DEBUG]);
	j.config = (struct cprof_config){
		.kind = find_kind(what), .n_readers = CPROF_READERS_AUTO, .cache_dir = cache,
		.on_reader = realtime_on_reader, .on_reader_ctx = &j.realtime,
	};
	if (what == REQUEST_EVENT && *j.event) {
		j.config.event = &j.event;
		j.config.n_events = 1;
	}
	if (*rate && *argv[SERVE_JOB_RATE_KIND] == 'p')
		j.config.period = rate;
	else if (*rate)
		j.config.freq = rate;
	int r = take_pids(&j, argv[SERVE_JOB_PIDS]) ? 0 : err_errno(&e, ENOMEM, "cannot record");
	j.config.pid = j.pids.v;
	j.config.n_pids = j.pids.n;
	j.config.all_processes = !j.pids.n;
	if (r == 0)
		r = run_job(&j, is_snapshot, &e);
	realtime_stop(&j.realtime);
	if (r < 0) {
		hintwords_apply(&e, HINTWORDS_SERVE);
		send_note(SERVE_NOTE_FAILED, &e);
	}
	cprof_recorder_free(j.recorder);
	VEC_FREE(&j.pids);
	return r < 0;
}
