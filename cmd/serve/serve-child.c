/* A process that sends anything unexpected has failed: its user may be hostile. */
#include "cmd/serve/serve-child.h"

#include "cmd/serve/peer.h"
#include "cmd/serve/request.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* ---- the new process ----------------------------------------------------------------- */

/* Moves the descriptors to their places, which may be in use by each other. */
static bool place_fds(int control, int data)
{
	int a = fcntl(control, F_DUPFD_CLOEXEC, 10), b = fcntl(data, F_DUPFD_CLOEXEC, 10);
	return a >= 0 && b >= 0 && dup2(a, SERVE_JOB_CONTROL) >= 0 &&
	       dup2(b, SERVE_JOB_DATA) >= 0;
}

/* The server's environment names folders of its own user. */
static void clean_environment(const struct peer *p)
{
	static const char *const own[] = { "HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR",
					   "DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH" };
	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !p->is_server; i++)
		unsetenv(own[i]);
}

static void run_child(int program_fd, char **argv, const struct peer *p, int control, int data)
{
	sigset_t none;
	sigemptyset(&none);
	int fd = fcntl(program_fd, F_DUPFD_CLOEXEC, 10);
	if (fd < 0 || !place_fds(control, data) || peer_become(p) < 0)
		_exit(126);
	clean_environment(p);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	fexecve(fd, argv, environ);
	_exit(127);
}

int serve_child_start(struct serve_child *c, int program_fd, const struct request *r,
		      const char *pids, const struct peer *p, struct err *e)
{
	int control[2], data[2];
	char what[12], debug[12], kind[2] = { r->is_period ? 'p' : 'f', '\0' };
	snprintf(what, sizeof(what), "%d", (int)r->what);
	snprintf(debug, sizeof(debug), "%u", r->debug);
	char name[] = "cprof-serve", mark[] = SERVE_JOB_MARK_TEXT;
	char *argv[SERVE_JOB_N_ARGS + 1] = {
		[0] = name, [SERVE_JOB_MARK] = mark, [SERVE_JOB_WHAT] = what,
		[SERVE_JOB_EVENT] = (char *)r->event, [SERVE_JOB_RATE] = (char *)r->rate,
		[SERVE_JOB_RATE_KIND] = kind, [SERVE_JOB_DEBUG] = debug,
		[SERVE_JOB_PIDS] = (char *)pids,
	};
	*c = (struct serve_child){ .control_fd = -1, .data_fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return err_errno(e, errno, "cannot start a recording");
	if (pipe2(data, O_CLOEXEC) < 0) {
		close(control[0]);
		close(control[1]);
		return err_errno(e, errno, "cannot start a recording");
	}
	c->pid = fork();
	if (c->pid == 0)
		run_child(program_fd, argv, p, control[1], data[1]);
	int code = c->pid < 0 ? err_errno(e, errno, "cannot start a recording") : 0;
	close(control[1]);
	close(data[1]);
	c->control_fd = control[0];
	c->data_fd = data[0];
	fcntl(c->control_fd, F_SETFL, O_NONBLOCK);
	fcntl(c->data_fd, F_SETFL, O_NONBLOCK);
	if (code < 0)
		serve_child_done(c);
	return code;
}

void serve_child_command(struct serve_child *c, char command)
{
	if (c->control_fd >= 0)
		send(c->control_fd, &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void serve_child_done(struct serve_child *c)
{
	if (c->control_fd >= 0)
		close(c->control_fd);
	if (c->data_fd >= 0)
		close(c->data_fd);
	c->control_fd = c->data_fd = -1;
	VEC_FREE(&c->bytes);
}

/* ---- what it sends ------------------------------------------------------------------- */

static enum serve_child_event fail(struct serve_child *c, const char *why)
{
	err_set(&c->why, EPROTO, "the recording process has failed: %s", why);
	return SERVE_CHILD_FAILED;
}

static enum serve_child_event take_note(struct serve_child *c)
{
	struct serve_note note;
	ssize_t n = recv(c->control_fd, &note, sizeof(note), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SERVE_CHILD_NOTHING;
	if (n <= 0) {
		close(c->control_fd);
		c->control_fd = -1;
		return SERVE_CHILD_NOTHING;
	}
	if (n != sizeof(note))
		return fail(c, "an unknown message");
	switch (note.kind) {
	case SERVE_NOTE_BEGAN: return SERVE_CHILD_BEGAN;
	case SERVE_NOTE_CUT: return SERVE_CHILD_CUT;
	case SERVE_NOTE_FAILED:
		c->why = note.why;
		c->why.what[sizeof(c->why.what) - 1] = '\0';
		c->why.hint[sizeof(c->why.hint) - 1] = '\0';
		return SERVE_CHILD_FAILED;
	default: return fail(c, "an unknown message");
	}
}

/* Reads up to n bytes to p; 0: none now, or the end, which closes the descriptor. */
static size_t read_some(struct serve_child *c, void *p, size_t n)
{
	ssize_t got = read(c->data_fd, p, n);
	if (got > 0)
		return (size_t)got;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close(c->data_fd);
	c->data_fd = -1;
	return 0;
}

static enum serve_child_event take_data(struct serve_child *c)
{
	size_t n;
	while (c->n_frame < sizeof(c->frame)) {
		n = read_some(c, (char *)&c->frame + c->n_frame, sizeof(c->frame) - c->n_frame);
		if (n == 0)
			return SERVE_CHILD_NOTHING;
		c->n_frame += n;
	}
	if (c->frame.n_bytes > SERVE_CHILD_BYTES_MAX)
		return fail(c, "a profile that is too large");
	while (c->bytes.n < c->frame.n_bytes) {
		size_t left = (size_t)c->frame.n_bytes - c->bytes.n;
		if (left > 65536)
			left = 65536;
		if (!VEC_RESERVE(&c->bytes, left))
			return fail(c, "out of memory");
		n = read_some(c, c->bytes.v + c->bytes.n, left);
		if (n == 0)
			return SERVE_CHILD_NOTHING;
		c->bytes.n += n;
	}
	c->n_frame = 0;
	return SERVE_CHILD_PART;
}

enum serve_child_event serve_child_next(struct serve_child *c)
{
	enum serve_child_event event = SERVE_CHILD_NOTHING;
	if (c->control_fd >= 0)
		event = take_note(c);
	if (event == SERVE_CHILD_NOTHING && c->data_fd >= 0)
		event = take_data(c);
	if (event == SERVE_CHILD_NOTHING && c->control_fd < 0 && c->data_fd < 0)
		return SERVE_CHILD_ENDED;
	return event;
}
