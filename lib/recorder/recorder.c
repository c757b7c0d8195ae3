/*
 * The life of a recorder, from opening to the end of recording.  It delegates as much as it can:
 * checks are in setup.c, choices in the kind, pauses and snapshots in recorder-window.c.
 */

#include "recorder/recorder-private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "recorder/allprocs.h"
#include "recorder/setup.h"
#include "source/record.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For all that a recording keeps, unless the caller has another limit. */
#define MAX_MEMORY_DEFAULT ((size_t)256 << 20)

/* ---- life ------------------------------------------------------------------------ */

/* Opens a descriptor per target process that becomes readable when it ends (pidfd_open(2)). */
static void watch_targets(struct cprof_recorder *r)
{
	const struct cprof_config *c = &r->config;
	r->watch.pidfd = calloc(c->n_pids + 1, sizeof(*r->watch.pidfd));
	for (size_t i = 0; r->watch.pidfd && i < c->n_pids; i++) {
		int fd = (int)syscall(SYS_pidfd_open, c->pid[i], 0);
		if (fd >= 0)
			r->watch.pidfd[r->watch.n++] = fd;
	}
}

/* The process of thread tid; /proc has a folder for each thread id, too. */
static pid_t process_of(const struct cprof_recorder *r, pid_t tid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(r->session.host, HOST_PROC, &status, NULL, "%d/status", tid) < 0)
		return tid;
	const char *p = strstr(status, "\nTgid:");
	return p ? (pid_t)atoi(p + 6) : tid;
}

/* Adds the current threads of a process, whose later threads are not targets. */
static int add_threads(struct cprof_recorder *r, pid_t pid)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = synth_list(r->session.host, pid, &tids), code = 0;
	for (int i = 0; i < n && code == 0; i++)
		code = targets_add_tid(&r->engine.targets, (uint32_t)pid, (uint32_t)tids[i]);
	return code;
}

static int set_targets(struct cprof_recorder *r)
{
	const struct cprof_config *c = &r->config;
	struct targets *t = &r->engine.targets;
	t->no_idle = c->all_processes;
	t->all = c->all_processes || r->session.only_targets;
	if (c->command_pid)
		targets_add_command(t, (uint32_t)c->command_pid);
	for (size_t i = 0; i < c->n_pids; i++) {
		int code = c->no_inherit ? add_threads(r, c->pid[i])
					 : targets_add_pid(t, (uint32_t)c->pid[i]);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < c->n_tids; i++) {
		pid_t tid = c->tid[i];
		int code = targets_add_tid(t, (uint32_t)process_of(r, tid), (uint32_t)tid);
		if (code < 0)
			return code;
	}
	return 0;
}

int recorder_take_config(struct cprof_config *c, const void *config, size_t n_bytes, struct err *e)
{
	const unsigned char *from = config;
	for (size_t i = sizeof(*c); i < n_bytes; i++)
		if (from[i])
			return err_set(e, E2BIG, "the configuration requests something that this "
				       "libcprof does not know");
	memset(c, 0, sizeof(*c));
	memcpy(c, from, n_bytes < sizeof(*c) ? n_bytes : sizeof(*c));
	return 0;
}

static int take_self(struct cprof_recorder *r, struct err *e)
{
	struct cprof_config *c = &r->config;
	if (c->self == CPROF_SELF_NONE)
		return 0;
	if (c->n_pids + c->n_tids || c->command_pid) {
		err_set(e, EINVAL, "the program itself cannot be recorded together with other "
			"targets");
		return -EINVAL;
	}
	if (c->self == CPROF_SELF_PROCESS) {
		r->self = getpid();
		c->pid = &r->self;
		c->n_pids = 1;
		return 0;
	}
	r->self = (pid_t)syscall(SYS_gettid);
	c->tid = &r->self;
	c->n_tids = 1;
	c->no_inherit = true;
	/* Events of one thread cost other programs nothing. */
	if (c->scope == CPROF_SCOPE_AUTO)
		c->scope = CPROF_SCOPE_TASK;
	return 0;
}

int recorder_check_owner(const struct cprof_recorder *r, struct err *e)
{
	if (r->session.owner != getpid())
		return err_set(e, ECHILD, "the recorder belongs to the process that forked this "
			       "one");
	return 0;
}

/* Events as arrays, as the engine and the writing of profiles need them. */
static int describe_events(struct cprof_recorder *r, struct err *e)
{
	const struct kind_session *k = &r->session;
	r->output = calloc(k->n_events, sizeof(*r->output));
	r->pmu = calloc(k->n_events, sizeof(*r->pmu));
	r->period = calloc(k->n_events, sizeof(*r->period));
	if (!r->output || !r->pmu || !r->period)
		return err_errno(e, ENOMEM, "cannot set up recording");
	for (size_t i = 0; i < k->n_events; i++) {
		r->output[i] = k->event[i].output;
		r->pmu[i] = k->event[i].pmu;
		r->period[i] = k->event[i].period;
	}
	return 0;
}

static uint64_t by_count(const struct kind_session *k)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < k->n_events && i < 64; i++)
		bits |= k->event[i].by_count ? UINT64_C(1) << i : 0;
	return bits;
}

static int open_engine(struct cprof_recorder *r, struct err *e)
{
	const struct cprof_config *c = &r->config;
	const struct kind_session *k = &r->session;
	const struct engine_options o = {
		.max_memory_bytes = c->max_memory_bytes ? c->max_memory_bytes : MAX_MEMORY_DEFAULT,
		.host = k->host, .machine = k->source->facts.arch,
		.n_events = k->n_events, .output = r->output, .pmu = r->pmu, .period = r->period,
		.by_count = by_count(k),
		.labels = c->labels_given ? c->labels : SAMPLELABELS_DEFAULT,
		.label = c->label, .n_labels = c->n_labels,
		.max_stack = k->max_stack, .max_branches = k->max_branches,
		.max_depth = c->max_depth,
		.follow = !c->no_inherit,
		.own_pid = c->all_processes ? (uint32_t)getpid() : 0,
	};
	int code = engine_init(&r->engine, &o, e);
	if (code < 0)
		return code;
	r->engine_ready = true;
	r->engine.procs.no_first_exe = c->all_processes;
	if (set_targets(r) < 0 ||
	    coverage_init(&r->coverage, k->host, c->pid, c->n_pids, c->tid, c->n_tids,
			  c->command_pid, !c->no_inherit, k->cgroup) < 0)
		return err_errno(e, ENOMEM, "cannot set up recording");
	coverage_watch_cpus(&r->coverage, c->all_processes, c->cpus);
	return 0;
}

static int open_parts(struct cprof_recorder *r, struct err *e)
{
	struct engine *g = &r->engine;
	slices_init(&r->slices, g, &r->window, r->config.keep_last_ns);
	if (window_init(&r->window, &r->session, &g->window) < 0 ||
	    cost_init(&r->cost, &r->session, &r->window, g->event, &g->throttle) < 0)
		return err_errno(e, ENOMEM, "cannot set up recording");
	return 0;
}

/* From a configuration that was taken over. */
static int open_recorder(struct cprof_recorder *r, struct err *e)
{
	struct cprof_config *c = &r->config;
	r->kind = c->kind ? c->kind : cprof_cpu_recorder();
	r->session.config = c;
	if (c->explain) {
		r->log_sink = (struct log){ c->explain, c->explain_ctx,
					    (enum log_level)c->explain_max };
		r->session.log = &r->log_sink;
	}
	c->pausable |= c->start_paused;
	r->cpu_before_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int code = setup_recorder(r, e);
	if (code == 0)
		code = describe_events(r, e);
	if (code == 0)
		code = open_engine(r, e);
	if (code == 0)
		code = open_parts(r, e);
	if (code == 0)
		watch_targets(r);
	return code;
}

int cprof_recorder_new_sized(const struct cprof_config *config, size_t config_bytes,
			     struct cprof_recorder **ret_recorder, struct err *e)
{
	struct cprof_recorder *r = calloc(1, sizeof(*r));
	if (!r)
		return err_errno(e, ENOMEM, "cannot set up recording");
	r->session.owner = getpid();
	r->poll_fd = -1;
	int code = recorder_take_config(&r->config, config, config_bytes, e);
	if (code == 0)
		code = take_self(r, e);
	if (code == 0)
		code = open_recorder(r, e);
	if (code < 0) {
		cprof_recorder_free(r);
		return code;
	}
	*ret_recorder = r;
	return 0;
}

void cprof_recorder_free(struct cprof_recorder *r)
{
	if (!r)
		return;
	source_close(r->session.source);
	if (r->poll_fd >= 0)
		close(r->poll_fd);
	if (r->kind)
		r->kind->close(&r->session);
	names_done(&r->names);
	if (r->engine_ready) {
		slices_scatter(&r->slices);
		slices_clear(&r->slices);
		engine_done(&r->engine);
	}
	coverage_done(&r->coverage);
	for (size_t i = 0; i < r->watch.n; i++)
		close(r->watch.pidfd[i]);
	free(r->watch.pidfd);
	cost_done(&r->cost);
	window_done(&r->window);
	free(r->period);
	free(r->output);
	free(r->pmu);
	free(r->session.event);
	if (r->session.host == &r->own_host)
		host_close(&r->own_host);
	free(r);
}

/* ---- recording ---------------------------------------------------------------------- */

static void feed_engine(void *ctx, const struct record *record)
{
	engine_feed(ctx, record);
}

/* Reads names and maps of existing targets, while records wait in the rings. */
static void read_proc(struct cprof_recorder *r)
{
	const struct cprof_config *c = &r->config;
	uint64_t time_ns = clock_monotonic_ns();
	if (c->all_processes)
		allprocs_read_proc(&r->engine, r->session.host, r->session.log);
	for (size_t i = 0; i < c->n_pids; i++)
		synth_process(r->session.host, c->pid[i], time_ns, feed_engine, &r->engine);
	for (size_t i = 0; i < c->n_tids; i++)
		synth_process(r->session.host, process_of(r, c->tid[i]), time_ns, feed_engine,
			      &r->engine);
}

static void open_window(struct cprof_recorder *r)
{
	window_begin(&r->window);
	coverage_start(&r->coverage);
	cost_start(&r->cost);
}

int cprof_recorder_start(struct cprof_recorder *r, struct err *e)
{
	int code = recorder_check_owner(r, e);
	if (code < 0)
		return code;
	if (r->started)
		return err_set(e, EALREADY, "the recorder is already started");
	r->started = true;
	if (r->config.delay_ns) {
		r->engine.window.start_ns = clock_monotonic_ns() + r->config.delay_ns;
	} else {
		open_window(r);
	}
	if (r->config.start_paused) {
		code = cprof_recorder_pause(r, CPROF_ALL_EVENTS, e);
		if (code < 0)
			return code;
	}
	code = source_enable(r->session.source, e);
	if (code < 0)
		return code;
	read_proc(r);
	return 0;
}

static int drain_source(struct cprof_recorder *r, struct err *e)
{
	struct record record;
	int code;
	jit_poll(&r->engine.jit, clock_monotonic_ns(), false);
	while ((code = source_next(r->session.source, &record, e)) == SOURCE_RECORD)
		if (r->kind->feed)
			r->kind->feed(&r->session, &r->engine, &record);
		else
			engine_feed(&r->engine, &record);
	return code < 0 ? code : 0;
}

/* Keeps memory proportional to what lives and what is counted.  If memory for copies is short,
 * nothing changes. */
static void collect_garbage(struct cprof_recorder *r, uint64_t now_ns)
{
	gc_threads_ended(&r->engine, now_ns);
	gc_threads_code(&r->engine);
	if (r->slices.slice_ns)
		slices_compact(&r->slices, now_ns);
	else if (gc_tables_names_are_due(&r->engine))
		gc_tables_names(&r->engine);
}

/* Notes targets that ended; true when none is left. */
static bool targets_gone(struct cprof_recorder *r, const bool *ready)
{
	for (size_t i = r->watch.n; i-- > 0;) {
		if (!ready[i])
			continue;
		close(r->watch.pidfd[i]);
		r->watch.pidfd[i] = r->watch.pidfd[--r->watch.n];
		r->watch.n_gone++;
	}
	if (r->config.command_pid)
		return false;  /* its parent knows */
	for (size_t i = 0; i < r->config.n_tids; i++) {
		CLEANUP_CLOSE int fd = host_open_file(r->session.host, HOST_PROC, O_PATH, "%d/stat",
						      r->config.tid[i]);
		if (fd >= 0)
			return false;
	}
	return r->watch.n == 0 && (r->watch.n_gone || r->config.n_tids);
}

/* Waits for records, the end of a target, one of fds, or the next reading of labels.  *ret_gone: no
 * target is left. */
static int wait_for_records(struct cprof_recorder *r, int timeout_ms, const int *fds, size_t n_fds,
			    bool *ret_ready, bool *ret_gone, struct err *e)
{
	size_t n = r->watch.n + n_fds;
	CLEANUP_FREE int *fd = calloc(n + 1, sizeof(*fd));
	CLEANUP_FREE bool *ready = calloc(n + 1, sizeof(*ready));
	if (!fd || !ready)
		return err_errno(e, ENOMEM, "cannot wait for records");
	if (r->watch.n)
		memcpy(fd, r->watch.pidfd, r->watch.n * sizeof(*fd));
	if (n_fds)
		memcpy(fd + r->watch.n, fds, n_fds * sizeof(*fd));
	int labels_ms = applabels_timeout_ms(&r->engine.app);
	if (labels_ms >= 0 && (timeout_ms < 0 || labels_ms < timeout_ms))
		timeout_ms = labels_ms;
	int code = source_wait(r->session.source, timeout_ms, fd, n, ready);
	if (code < 0 && code != -EINTR)
		return err_errno(e, -code, "cannot wait for records");
	for (size_t i = 0; i < n_fds && ret_ready; i++)
		ret_ready[i] = code == 0 && ready[r->watch.n + i];
	*ret_gone = targets_gone(r, ready);
	return 0;
}

/* Processes everything that has arrived. */
static int take_in(struct cprof_recorder *r, struct err *e)
{
	uint64_t drained_ns = clock_monotonic_ns();
	slices_scatter(&r->slices);
	if (!r->window.is_open && drained_ns >= r->engine.window.start_ns)
		open_window(r);
	applabels_poll(&r->engine.app);
	int code = drain_source(r, e);
	if (code < 0)
		return code;
	window_drained(&r->window, drained_ns);
	if (r->kind->drained)
		r->kind->drained(&r->session, &r->engine, drained_ns);
	code = cost_adapt(&r->cost, e);
	if (code < 0)
		return code;
	code = slices_advance(&r->slices, clock_monotonic_ns(), e);
	if (code < 0)
		return code;
	collect_garbage(r, clock_monotonic_ns());
	return 0;
}

int cprof_recorder_step(struct cprof_recorder *r, int timeout_ms, const int *fds, size_t n_fds,
			bool *ret_ready, struct err *e)
{
	bool gone = false;
	int code = recorder_check_owner(r, e);
	if (code < 0)
		return code;
	code = wait_for_records(r, timeout_ms, fds, n_fds, ret_ready, &gone, e);
	if (code < 0)
		return code;
	code = window_tend(&r->window, e);
	if (code < 0)
		return code;
	code = take_in(r, e);
	if (code < 0)
		return code;
	return gone ? CPROF_TARGET_GONE : CPROF_RUNNING;
}

void cprof_recorder_command_started(struct cprof_recorder *r)
{
	r->engine.targets.started_ns = clock_monotonic_ns();
}

void cprof_recorder_command_used(struct cprof_recorder *r, uint64_t cpu_ns)
{
	coverage_command_used(&r->coverage, cpu_ns);
}

/* ---- the end --------------------------------------------------------------------------- */

int cprof_recorder_stop(struct cprof_recorder *r, struct err *e)
{
	int code = recorder_check_owner(r, e);
	if (code < 0)
		return code;
	if (!r->started || r->stopped)
		return err_set(e, EINVAL, "the recorder is not started");
	r->stopped = true;
	if (!r->window.is_open)
		open_window(r);
	source_disable(r->session.source);
	window_end(&r->window);
	coverage_stop(&r->coverage, &r->engine.procs);
	jit_poll(&r->engine.jit, r->window.end_ns, true);
	slices_scatter(&r->slices);
	code = drain_source(r, e);
	if (code == 0)
		code = slices_gather(&r->slices, e);
	recorder_count(r);
	cost_stop(&r->cost);
	return code;
}
