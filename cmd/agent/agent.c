/*
 * The recorder of cprof agent: one thread, which reads the rings and ends the windows.  A child
 * process looks up names and writes the profiles of a window; there is one at a time.
 */

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/freememory.h"
#include "base/hash.h"
#include "cmd/agent/agent-config.h"
#include "cmd/agent/agent-opts.h"
#include "cmd/agent/agent-push.h"
#include "cmd/agent/agent-window.h"
#include "cmd/agent/spool-write.h"
#include "cmd/childnames.h"
#include "cmd/cmd.h"
#include "cmd/hintwords.h"
#include "cmd/nofile.h"
#include "cmd/realtime.h"
#include "cmd/signals.h"
#include "cprof.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
/* The longest time that records wait in a ring that is not full enough for a wake-up, each of which
 * costs some dozen us and the memory of all interpreters is read anew.  Processes may have ended by
 * then, but their files are still there. */
#define STEP_MS 1000
/* A child that does not end: a file system does not answer. */
#define STUCK_NS (60 * SECOND_NS)
/* The watchdog of real-time priority: rings hold the samples of several seconds. */
#define LOOK_NS SECOND_NS
#define LAST_MS 20000                  /* the same for the last one */

struct agent {
	struct agent_opts opts;
	struct agent_config config;
	struct spool_writer spool;
	struct agent_fit fit;
	struct agent_push push;
	struct realtime realtime;
	struct cprof_recorder *recorder;
	char host[256], own_exe[PATH_MAX];
	int signal_fd, log_fd;
	uint64_t cut_ns;               /* when the present window ends; CLOCK_MONOTONIC */
	pid_t writer;                  /* 0: none */
	int writer_fd, names_fd;       /* from the child: the spool's state; names; -1 */
	uint64_t writer_ns;            /* when it was started */
	uint64_t cpu_before_ns;        /* counters.cpu_ns when this process began */
	bool stops, reloads;
};

static void say(const struct agent *a, const char *text)
{
	if (!a->opts.is_quiet)
		fprintf(stderr, "cprof agent: %s\n", text);
}

static void complain(const struct err *e)
{
	cmd_fail("agent", e);
}

static uint64_t time_of(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* Of this process and its children; in a child, of itself. */
static uint64_t cpu_ns(void)
{
	struct rusage self, children;
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	return time_of(&self) + time_of(&children);
}

/* ---- windows ------------------------------------------------------------------------- */

/* Windows end at multiples of their length, and at another moment on each machine, so that the
 * machines of a fleet do not send all at once.  The first one has at least half of the length. */
static void plan_cut(struct agent *a)
{
	uint64_t window = a->config.window_ns, now = clock_now_ns(CLOCK_REALTIME);
	uint64_t offset = hash_bytes_fixed(a->host, strlen(a->host)) % window;
	uint64_t into = (now + window - offset) % window;
	uint64_t left = window - into;
	a->cut_ns = clock_monotonic_ns() + (left < window / 2 ? left + window : left);
}

/* What a child reports: what it has changed. */
struct writer_state {
	struct spool_writer spool;
	struct agent_fit fit;
};

static void send_state(const struct agent *a, int fd)
{
	struct writer_state state = { .spool = a->spool, .fit = a->fit };
	if (write(fd, &state, sizeof(state)) != (ssize_t)sizeof(state))
		_exit(1);
}

static int write_window(struct agent *a, uint64_t parent_ns, struct err *e)
{
	struct agent_window w = {
		.config = &a->config, .spool = &a->spool, .fit = &a->fit,
		.n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN), .recorder = a->recorder,
		.host = a->host, .own_exe = a->own_exe, .log_fd = a->log_fd,
	};
	int r = agent_window_write(&w, e);
	a->spool.n.cpu_ns = a->cpu_before_ns + parent_ns + cpu_ns();
	int counted = spool_writer_count(&a->spool);
	return r < 0 || counted == 0 ? r : err_errno(e, -counted, "cannot write the counters");
}

static void run_writer(struct agent *a, uint64_t parent_ns, int fd)
{
	struct err e = { 0 };
	/* The next recorder must not find it in the spool. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It takes the rest of the time, but not less: the next window waits for it. */
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
	int r = write_window(a, parent_ns, &e);
	if (r < 0)
		complain(&e);
	send_state(a, fd);
	childnames_send(a->names_fd, a->recorder);
	_exit(r < 0);
}

static int begin_writer(struct agent *a, struct err *e)
{
	int fd[2];
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_errno(e, errno, "cannot write a window");
	uint64_t parent_ns = cpu_ns();
	a->names_fd = childnames_open();
	a->writer = fork();
	if (a->writer == 0) {
		close(fd[0]);
		run_writer(a, parent_ns, fd[1]);
	}
	close(fd[1]);
	a->writer_fd = fd[0];
	a->writer_ns = clock_monotonic_ns();
	if (a->writer > 0)
		return 0;
	close(fd[0]);
	childnames_take(a->names_fd, a->recorder);
	a->writer = 0;
	a->names_fd = a->writer_fd = -1;
	return err_errno(e, errno, "cannot write a window");
}

/* Takes over what the child has changed; without its report the window is lost. */
static void end_writer(struct agent *a)
{
	struct writer_state state;
	ssize_t n = read(a->writer_fd, &state, sizeof(state));
	int status = 0;
	while (waitpid(a->writer, &status, 0) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof(state)) {
		a->spool.n_bytes = state.spool.n_bytes;
		a->spool.n_files = state.spool.n_files;
		a->spool.n = state.spool.n;
		a->fit = state.fit;
	} else {
		a->spool.n.windows++;
		a->spool.n.windows_failed++;
		spool_writer_clean(&a->spool);
	}
	close(a->writer_fd);
	childnames_take(a->names_fd, a->recorder);
	a->writer_fd = a->names_fd = -1;
	a->writer = 0;
}

/* At the end, when no records are lost meanwhile. */
static void wait_for_writer(struct agent *a)
{
	struct pollfd p = { .fd = a->writer_fd, .events = POLLIN };
	if (!a->writer)
		return;
	if (poll(&p, 1, LAST_MS) == 0)
		kill(a->writer, SIGKILL);
	end_writer(a);
}

static int cut(struct agent *a, struct err *e)
{
	int r = cprof_recorder_snapshot(a->recorder, e);
	if (r == 0)
		r = begin_writer(a, e);
	if (r == 0)
		r = cprof_recorder_clear(a->recorder, e);
	freememory_return();
	plan_cut(a);
	return r;
}

/* ---- the loop ------------------------------------------------------------------------ */

static void take_signals(struct agent *a)
{
	struct signalfd_siginfo info;
	while (read(a->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		a->stops |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
		a->reloads |= info.ssi_signo == SIGHUP;
	}
	if (a->push.pid && waitpid(a->push.pid, NULL, WNOHANG) > 0)
		agent_push_ended(&a->push, a->push.pid, clock_monotonic_ns());
}

static int wait_ms(const struct agent *a)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t left = a->cut_ns > now ? (a->cut_ns - now) / 1000000 + 1 : 0;
	return a->writer || left > STEP_MS ? STEP_MS : (int)left;
}

static void kill_stuck(struct agent *a)
{
	if (!a->writer || clock_monotonic_ns() - a->writer_ns < STUCK_NS)
		return;
	say(a, "the process that writes a window does not end, and is killed");
	kill(a->writer, SIGKILL);
	a->writer_ns = clock_monotonic_ns();
}

static int step(struct agent *a, struct err *e)
{
	int fds[2] = { a->signal_fd, a->writer_fd };
	bool ready[2] = { false };
	int r = cprof_recorder_step(a->recorder, wait_ms(a), fds, a->writer ? 2 : 1, ready, e);
	if (r < 0)
		return r;
	if (ready[0])
		take_signals(a);
	if (a->writer && ready[1])
		end_writer(a);
	kill_stuck(a);
	struct err why = { 0 };
	if (agent_push_start(&a->push, &a->config, clock_monotonic_ns(), &why) < 0) {
		complain(&why);
		a->push.again_ns = clock_monotonic_ns() + STUCK_NS;
	}
	if (a->writer || a->stops || a->reloads || clock_monotonic_ns() < a->cut_ns)
		return 0;
	return cut(a, e);
}

static int open_recorder(struct agent *a, struct err *e)
{
	const struct agent_config *c = &a->config;
	const struct cprof_config config = {
		.event = c->event ? &a->config.event : NULL, .n_events = c->event ? 1 : 0,
		.freq = c->rate, .all_processes = true, .labels_given = true,
		.labels = CPROF_LABEL_PROCESS_NAME | CPROF_LABEL_CGROUP | CPROF_LABEL_EXE,
		.naming = { .no_symbols = c->no_symbols, .no_debug_info = !c->has_lines },
		.cache_dir = c->cache, .frugal = true,
		.max_memory_bytes = c->max_memory_bytes, .n_readers = CPROF_READERS_AUTO,
		.on_reader = realtime_on_reader, .on_reader_ctx = &a->realtime,
	};
	int r = cprof_recorder_new(&config, &a->recorder, e);
	if (r == 0 && cprof_recorder_n_events(a->recorder) != 1)
		r = err_usage(e, "event: '%s' are several events", c->event);
	return r;
}

/* Until the agent stops or has a new configuration. */
static int record(struct agent *a, struct err *e)
{
	int r = open_recorder(a, e);
	agent_fit_init(&a->fit, &a->config);
	realtime_start(&a->realtime, true, LOOK_NS);
	realtime_raise(&a->realtime);
	if (r == 0)
		r = cprof_recorder_start(a->recorder, e);
	plan_cut(a);
	while (r == 0 && !a->stops && !a->reloads)
		r = step(a, e);
	wait_for_writer(a);
	if (r == 0)
		r = cut(a, e);
	realtime_stop(&a->realtime);
	wait_for_writer(a);
	cprof_recorder_free(a->recorder);
	a->recorder = NULL;
	if (r < 0)
		hintwords_apply(e, HINTWORDS_AGENT);
	return r;
}

/* A configuration that is wrong changes nothing. */
static void reload(struct agent *a)
{
	struct agent_config next;
	struct spool_writer spool = { .dir_fd = -1 };
	struct err e = { 0 };
	a->reloads = false;
	int r = agent_opts_load(&a->opts, &next, &e);
	if (r == 0 && strcmp(next.spool, a->config.spool) != 0)
		r = spool_writer_open(&spool, next.spool, next.spool_group, &e);
	if (r == 0)
		r = agent_push_check(&next, &e);
	if (r < 0) {
		complain(&e);
		say(a, "the configuration stays as it was");
		spool_writer_close(&spool);
		agent_config_done(&next);
		return;
	}
	if (spool.dir_fd >= 0) {
		spool_writer_end(&a->spool);
		spool_writer_close(&a->spool);
		a->spool = spool;
		spool_writer_begin(&a->spool);
		a->cpu_before_ns = spool.n.cpu_ns - cpu_ns();
	}
	agent_push_stop(&a->push);
	a->push = (struct agent_push){ 0 };
	agent_config_done(&a->config);
	a->config = next;
	a->spool.bytes_max = next.spool_bytes;
	a->spool.files_max = next.spool_files;
	say(a, "the configuration was read again");
}

/* ---- start --------------------------------------------------------------------------- */

static void find_names(struct agent *a)
{
	if (gethostname(a->host, sizeof(a->host) - 1) < 0 || !a->host[0])
		snprintf(a->host, sizeof(a->host), "localhost");
	if (a->config.host)
		snprintf(a->host, sizeof(a->host), "%s", a->config.host);
	ssize_t n = readlink("/proc/self/exe", a->own_exe, sizeof(a->own_exe) - 1);
	a->own_exe[n < 0 ? 0 : n] = '\0';
}

static int check(struct agent *a, struct err *e)
{
	int r = open_recorder(a, e);
	cprof_recorder_free(a->recorder);
	if (r == 0)
		say(a, "the configuration is right, and all processes can be recorded");
	return r;
}

static int open_agent(struct agent *a, struct err *e)
{
	int r = agent_opts_load(&a->opts, &a->config, e);
	if (r < 0)
		return r;
	find_names(a);
	nofile_raise();
	a->spool.bytes_max = a->config.spool_bytes;
	a->spool.files_max = a->config.spool_files;
	r = agent_push_check(&a->config, e);
	if (r == 0)
		r = spool_writer_open(&a->spool, a->config.spool, a->config.spool_group, e);
	a->cpu_before_ns = a->spool.n.cpu_ns;
	a->log_fd = open("/var/log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r < 0)
		return r;
	a->signal_fd = signals_open_service(true, e);
	return a->signal_fd < 0 ? a->signal_fd : 0;
}

static int run(struct agent *a, struct err *e)
{
	char text[160];
	snprintf(text, sizeof(text), "recording all processes at %s Hz; profiles of %" PRIu64
		 " s are written to %.60s", a->config.rate, a->config.window_ns / SECOND_NS,
		 a->config.spool);
	say(a, text);
	spool_writer_begin(&a->spool);
	int r;
	while ((r = record(a, e)) == 0 && !a->stops) {
		reload(a);
		find_names(a);
	}
	agent_push_stop(&a->push);
	spool_writer_end(&a->spool);
	return r;
}

int main(int argc, char **argv)
{
	static char name[] = "cprof agent";
	struct agent a = {
		.spool.dir_fd = -1, .signal_fd = -1, .log_fd = -1, .writer_fd = -1, .names_fd = -1,
	};
	struct err e = { 0 };
	argp_err_exit_status = CMD_USAGE;
	if (argc > 0)
		argv[0] = name;
	agent_opts_parse(&a.opts, argc, argv);
	int r = open_agent(&a, &e);
	if (r == 0)
		r = a.opts.is_check ? check(&a, &e) : run(&a, &e);
	spool_writer_close(&a.spool);
	agent_config_done(&a.config);
	agent_opts_done(&a.opts);
	return r < 0 ? cmd_fail("agent", &e) : 0;
}
