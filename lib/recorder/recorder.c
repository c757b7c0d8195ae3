/*
 * The life of a recorder, from opening to the end of recording.  It delegates as much as it can:
 * checks are in setup.c, choices in the kind, pauses and snapshots in recorder-window.c.
 */

#include "recorder/hugepages.h"
#include "recorder/recorder-private.h"
#include "engine/engine-waits.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/gc-files.h"
#include "event/evopen.h"
#include "proc/livecode.h"
#include "recorder/allprocs.h"
#include "recorder/machine.h"
#include "recorder/setup.h"
#include "source/record.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define LIVECODE_PART 8u               /* of --max-memory, for names that are read from memory */

/* ---- life ------------------------------------------------------------------------ */

/* Opens a descriptor per target process that becomes readable when it ends (pidfd_open(2)). */
static void watch_targets(struct cprof_recorder *rec)
{
	const struct cprof_config *c = &rec->config;
	rec->watch.pidfd = calloc(c->n_pids + 1, sizeof(*rec->watch.pidfd));
	for (size_t i = 0; rec->watch.pidfd && i < c->n_pids; i++) {
		int fd = (int)syscall(SYS_pidfd_open, c->pid[i], 0);
		if (fd >= 0)
			rec->watch.pidfd[rec->watch.n++] = fd;
	}
}

/* The process of thread tid; /proc has a folder for each thread id, too. */
static pid_t process_of(const struct cprof_recorder *rec, pid_t tid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(rec->session.host, HOST_PROC, &status, NULL, "%d/status", tid) < 0)
		return tid;
	const char *p = strstr(status, "\nTgid:");
	return p ? (pid_t)atoi(p + 6) : tid;
}

/* Adds the current threads of a process, whose later threads are not targets. */
static int add_threads(struct cprof_recorder *rec, pid_t pid)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = synth_list(rec->session.host, pid, &tids);
	for (int i = 0; i < n; i++) {
		int r = targets_add_tid(&rec->engine.targets, (uint32_t)pid, (uint32_t)tids[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_targets(struct cprof_recorder *rec)
{
	const struct cprof_config *c = &rec->config;
	struct targets *t = &rec->engine.targets;
	t->no_idle = c->all_processes;
	t->all = c->all_processes || rec->session.only_targets;
	if (c->command_pid)
		targets_add_command(t, (uint32_t)c->command_pid);
	for (size_t i = 0; i < c->n_pids; i++) {
		int r = c->no_inherit ? add_threads(rec, c->pid[i])
					 : targets_add_pid(t, (uint32_t)c->pid[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < c->n_tids; i++) {
		pid_t tid = c->tid[i];
		int r = targets_add_tid(t, (uint32_t)process_of(rec, tid), (uint32_t)tid);
		if (r < 0)
			return r;
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

static int take_self(struct cprof_recorder *rec, struct err *e)
{
	struct cprof_config *c = &rec->config;
	if (c->self == CPROF_SELF_NONE)
		return 0;
	if (c->n_pids + c->n_tids || c->command_pid) {
		err_set(e, EINVAL, "the program itself cannot be recorded together with other "
			"targets");
		return -EINVAL;
	}
	if (c->self == CPROF_SELF_PROCESS) {
		rec->self = getpid();
		c->pid = &rec->self;
		c->n_pids = 1;
		return 0;
	}
	rec->self = (pid_t)syscall(SYS_gettid);
	c->tid = &rec->self;
	c->n_tids = 1;
	c->no_inherit = true;
	/* Events of one thread cost other programs nothing. */
	if (c->scope == CPROF_SCOPE_AUTO)
		c->scope = CPROF_SCOPE_TASK;
	return 0;
}

int recorder_check_owner(const struct cprof_recorder *rec, struct err *e)
{
	if (rec->session.owner != getpid())
		return err_set(e, ECHILD, "the recorder belongs to the process that forked this "
			       "one");
	return 0;
}

/* Events as arrays, as the engine and the writing of profiles need them. */
static int describe_events(struct cprof_recorder *rec, struct err *e)
{
	const struct kind_session *k = &rec->session;
	rec->output = calloc(k->n_events, sizeof(*rec->output));
	rec->pmu = calloc(k->n_events, sizeof(*rec->pmu));
	rec->period = calloc(k->n_events, sizeof(*rec->period));
	if (!rec->output || !rec->pmu || !rec->period)
		return err_errno(e, ENOMEM, "cannot set up recording");
	bool any_waits = false, any_args = false;
	for (size_t i = 0; i < k->n_events; i++) {
		any_waits |= k->event[i].waits != 0;
		any_args |= k->event[i].args != NULL;
	}
	rec->args = any_args ? calloc(k->n_events, sizeof(*rec->args)) : NULL;
	rec->waits = any_waits ? calloc(k->n_events, sizeof(*rec->waits)) : NULL;
	rec->quantum_ns = any_waits ? calloc(k->n_events, sizeof(*rec->quantum_ns)) : NULL;
	if ((any_waits && (!rec->waits || !rec->quantum_ns)) || (any_args && !rec->args))
		return err_errno(e, ENOMEM, "cannot set up recording");
	for (size_t i = 0; i < k->n_events; i++) {
		if (any_waits) {
			rec->waits[i] = (uint8_t)k->event[i].waits;
			rec->quantum_ns[i] = k->event[i].quantum_ns;
		}
		if (any_args)
			rec->args[i] = k->event[i].args;
		rec->output[i] = k->event[i].output;
		rec->pmu[i] = k->event[i].pmu;
		rec->period[i] = k->event[i].period;
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

static uint64_t has_gaps(const struct kind_session *k)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < k->n_events && i < 64; i++)
		bits |= k->event[i].has_gaps ? UINT64_C(1) << i : 0;
	return bits;
}

_Static_assert((int)CPROF_GO_LABELS_EXACT == (int)GOLABELS_EXACT &&
	       (int)CPROF_GO_LABELS_OFF == (int)GOLABELS_OFF, "one set of modes, two headers");

/* The buckets of a recording that drops old samples stay as wide as they are: wide enough that
 * those of the last seconds are not too many. */
static uint64_t timeline_ns(const struct cprof_config *c)
{
	uint64_t least_ns = c->keep_last_ns / TIMELABEL_BUCKETS_MAX;
	return c->timeline_ns && c->timeline_ns < least_ns ? least_ns : c->timeline_ns;
}

static int open_engine(struct cprof_recorder *rec, struct err *e)
{
	const struct cprof_config *c = &rec->config;
	const struct kind_session *k = &rec->session;
	if (!c->no_runtime_names && k->host)
		rec->live = livecode_new(k->host, kind_max_memory(c) / LIVECODE_PART);
	const struct engine_options o = {
		.max_memory_bytes = kind_max_memory(c), .live = rec->live,
		.host = k->host, .machine = k->source->facts.arch,
		.n_events = k->n_events, .output = rec->output, .pmu = rec->pmu,
		.period = rec->period, .waits = rec->waits, .quantum_ns = rec->quantum_ns,
		.args = rec->args,
		.by_count = by_count(k), .has_gaps = has_gaps(k),
		.has_locks = c->locks,
		.interpreter = c->no_runtime_names ? INTERP_NONE : (enum interp_mode)c->interpreter,
		.cache_dir = c->naming.no_cache || !k->host ? NULL :
					host_cache_dir(k->host, c->cache_dir),
		.go = { .mode = (enum golabels_mode)c->go_labels, .ids = c->go_ids,
			.open = c->machine ? c->machine->perf_event_open : evopen_syscall },
		.labels = c->labels_given ? c->labels : SAMPLELABELS_DEFAULT,
		.label = c->label, .n_labels = c->n_labels,
		.timeline = { .bucket_ns = timeline_ns(c), .is_fixed = c->keep_last_ns },
		.max_stack = k->max_stack, .max_branches = k->max_branches,
		.max_depth = c->max_depth, .frugal = c->frugal,
		.follow = !c->no_inherit,
		.own_pid = c->all_processes ? (uint32_t)getpid() : 0,
	};
	int r = engine_init(&rec->engine, &o, e);
	if (r < 0)
		return r;
	rec->engine_ready = true;
	rec->engine.procs.no_first_exe = c->all_processes;
	rec->engine.owners.unknown_is_own = c->command_pid && !c->all_processes;
	if (set_targets(rec) < 0 ||
	    coverage_init(&rec->coverage, k->host, c->pid, c->n_pids, c->tid, c->n_tids,
			  c->command_pid, !c->no_inherit, k->cgroup) < 0)
		return err_errno(e, ENOMEM, "cannot set up recording");
	coverage_watch_cpus(&rec->coverage, c->all_processes, c->cpus);
	return 0;
}

static int open_parts(struct cprof_recorder *rec, struct err *e)
{
	struct engine *g = &rec->engine;
	readers_init(&rec->readers, rec->session.source, g);
	slices_init(&rec->slices, g, &rec->window, rec->config.keep_last_ns);
	if (window_init(&rec->window, &rec->session, &g->window) < 0 ||
	    cost_init(&rec->cost, &rec->session, &rec->window, g->event, &g->throttle) < 0)
		return err_errno(e, ENOMEM, "cannot set up recording");
	return 0;
}

static int open_recorder(struct cprof_recorder *rec, const void *config, size_t n_bytes,
			 struct err *e)
{
	struct cprof_config *c = &rec->config;
	int r = recorder_take_config(c, config, n_bytes, e);
	if (r < 0)
		return r;
	r = take_self(rec, e);
	if (r < 0)
		return r;
	rec->kind = c->kind ? c->kind : cprof_cpu_recorder();
	rec->session.config = c;
	if (c->explain) {
		rec->log_sink = (struct log){ c->explain, c->explain_ctx,
					    (enum log_level)c->explain_max };
		rec->session.log = &rec->log_sink;
	}
	c->pausable |= c->start_paused;
	rec->cpu_before_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	r = setup_recorder(rec, e);
	if (r < 0)
		return r;
	r = describe_events(rec, e);
	if (r < 0)
		return r;
	r = open_engine(rec, e);
	if (r < 0)
		return r;
	r = open_parts(rec, e);
	if (r < 0)
		return r;
	watch_targets(rec);
	return 0;
}

int cprof_recorder_new_sized(const struct cprof_config *config, size_t config_bytes,
			     struct cprof_recorder **ret_recorder, struct err *e)
{
	struct cprof_recorder *rec = calloc(1, sizeof(*rec));
	if (!rec)
		return err_errno(e, ENOMEM, "cannot set up recording");
	rec->session.owner = getpid();
	rec->poll_fd = rec->due_fd = -1;
	int r = open_recorder(rec, config, config_bytes, e);
	if (r < 0) {
		cprof_recorder_free(rec);
		return r;
	}
	*ret_recorder = rec;
	return 0;
}

void cprof_recorder_free(struct cprof_recorder *rec)
{
	if (!rec)
		return;
	readers_done(&rec->readers);
	source_close(rec->session.source);
	if (rec->poll_fd >= 0)
		close(rec->poll_fd);
	if (rec->due_fd >= 0)
		close(rec->due_fd);
	if (rec->kind)
		rec->kind->close(&rec->session);
	names_done(&rec->names);
	namecache_done(&rec->known);
	if (rec->engine_ready) {
		slices_scatter(&rec->slices);
		slices_clear(&rec->slices);
		engine_done(&rec->engine);
	}
	livecode_free(rec->live);
	coverage_done(&rec->coverage);
	for (size_t i = 0; i < rec->watch.n; i++)
		close(rec->watch.pidfd[i]);
	free(rec->watch.pidfd);
	cost_done(&rec->cost);
	window_done(&rec->window);
	free(rec->period);
	free(rec->output);
	free(rec->pmu);
	free(rec->waits);
	free(rec->args);
	free(rec->quantum_ns);
	free(rec->session.event);
	VEC_FREE(&rec->session.changes);
	if (rec->session.host == &rec->own_host)
		host_close(&rec->own_host);
	free(rec);
}

/* ---- recording ---------------------------------------------------------------------- */

static void feed_engine(void *ctx, const struct record *record)
{
	engine_feed(ctx, record);
}

/* Reads names and maps of existing targets, while records wait in the rings. */
static void read_proc(struct cprof_recorder *rec)
{
	const struct cprof_config *c = &rec->config;
	uint64_t time_ns = clock_monotonic_ns();
	if (c->all_processes)
		allprocs_read_proc(&rec->engine, rec->session.host, rec->session.log);
	for (size_t i = 0; i < c->n_pids; i++)
		synth_process(rec->session.host, c->pid[i], time_ns, feed_engine, &rec->engine);
	for (size_t i = 0; i < c->n_tids; i++)
		synth_process(rec->session.host, process_of(rec, c->tid[i]), time_ns, feed_engine,
			      &rec->engine);
}

static void open_window(struct cprof_recorder *rec)
{
	window_begin(&rec->window);
	/* Its counters begin now, after the delay. */
	rec->engine.window.start_ns = rec->window.start_ns;
	rec->engine.options.timeline.since_ns = rec->window.start_ns;
	coverage_start(&rec->coverage);
	cost_start(&rec->cost);
}

static int add_readers(struct cprof_recorder *rec, struct err *e)
{
	uint32_t n = rec->config.n_readers;
	bool is_auto = n == CPROF_READERS_AUTO;
	rec->readers.pool.on_thread = rec->config.on_reader;
	rec->readers.pool.on_thread_ctx = rec->config.on_reader_ctx;
	bool has_waits = rec->engine.options.waits || rec->kind->feed;
	/* it uses them itself */
	if (rec->kind->snapshot)
		return 0;
	if (n > 1 && (has_waits || rec->config.go_labels == CPROF_GO_LABELS_EXACT)) {
		if (!is_auto)
			log_line(rec->session.log, LOG_WARN, "%s by one reader, not %u", has_waits ?
				 "the time without a CPU is measured" :
				 "exact Go labels are recorded", n);
		return 0;
	}
	if (is_auto && rec->session.source->ops->share)
		rec->readers.load.max = readerload_max(rec->session.source->facts.n_cpus);
	return n > 1 && !is_auto ? readers_set(&rec->readers, n, e) : 0;
}

static void adapt_readers(struct cprof_recorder *rec, uint64_t begin_ns)
{
	uint32_t before = rec->readers.n ? rec->readers.n : 1;
	uint32_t n = readers_adapt(&rec->readers, begin_ns, clock_monotonic_ns());
	rec->session.n_readers = n;
	if (n != before)
		log_line(rec->session.log, LOG_EXPLAIN, "readers: %u instead of %u, by how busy "
			 "they are", n, before);
}

int cprof_recorder_start(struct cprof_recorder *rec, struct err *e)
{
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	if (rec->started)
		return err_set(e, EALREADY, "the recorder is already started");
	rec->started = true;
	if (rec->config.delay_ns) {
		rec->engine.window.start_ns = clock_monotonic_ns() + rec->config.delay_ns;
		rec->engine.options.timeline.since_ns = rec->engine.window.start_ns;
	} else {
		open_window(rec);
	}
	if (rec->config.start_paused) {
		r = cprof_recorder_pause(rec, CPROF_ALL_EVENTS, e);
		if (r < 0)
			return r;
	}
	if (recorder_counts_bytes(rec))
		rec->huge_pages_before = hugepages_faulted(rec->session.host);
	r = source_enable(rec->session.source, e);
	if (r < 0)
		return r;
	if (!rec->kind->snapshot)
		read_proc(rec);
	r = add_readers(rec, e);
	if (r < 0)
		return r;
	return rec->kind->started ? rec->kind->started(&rec->session, &rec->engine, e) : 0;
}

static int drain_source(struct cprof_recorder *rec, struct err *e)
{
	struct record record;
	int r;
	uint64_t now_ns = clock_monotonic_ns();
	readers_poll_jit(&rec->readers, now_ns, false);
	if (rec->live)
		livecode_tick(rec->live, now_ns);
	if (rec->readers.n)
		return readers_drain(&rec->readers, e);
	while ((r = source_next(rec->session.source, &record, e)) == SOURCE_RECORD)
		if (rec->kind->feed)
			rec->kind->feed(&rec->session, &rec->engine, &record);
		else
			engine_feed(&rec->engine, &record);
	return r < 0 ? r : 0;
}

/* Keeps memory proportional to what lives and what is counted.  If memory for copies is short,
 * nothing changes. */
static void collect_garbage(struct cprof_recorder *rec, uint64_t now_ns)
{
	gc_threads_ended(&rec->engine, now_ns);
	gc_files_cfi(&rec->engine.gc.tables);
	if (rec->slices.slice_ns)
		slices_compact(&rec->slices, now_ns);
	else if (gc_tables_names_are_due(&rec->engine.gc.tables))
		gc_tables_names(&rec->engine.gc.tables);
}

/* Notes targets that ended; true when none is left. */
static bool targets_gone(struct cprof_recorder *rec, const bool *ready)
{
	for (size_t i = rec->watch.n; i-- > 0;) {
		if (!ready[i])
			continue;
		close(rec->watch.pidfd[i]);
		rec->watch.pidfd[i] = rec->watch.pidfd[--rec->watch.n];
		rec->watch.n_gone++;
	}
	if (rec->config.command_pid)
		return false;  /* the parent process waits for it */
	for (size_t i = 0; i < rec->config.n_tids; i++) {
		CLEANUP_CLOSE int fd = host_open_file(rec->session.host, HOST_PROC, O_PATH,
						      "%d/stat", rec->config.tid[i]);
		if (fd >= 0)
			return false;
	}
	return rec->watch.n == 0 && (rec->watch.n_gone || rec->config.n_tids);
}

/* The time when functions are due is more exact than the milliseconds of poll(2).  Returns a
 * descriptor that is ready then; -1: at any time. */
static int set_due(struct cprof_recorder *rec)
{
	uint64_t due_ns = readers_functions_due_ns(&rec->readers, clock_monotonic_ns());
	if (due_ns == UINT64_MAX)
		return -1;
	if (rec->due_fd < 0)
		rec->due_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	const struct itimerspec at = { .it_value = {
		.tv_sec = (time_t)(due_ns / CLOCK_SECOND_NS),
		.tv_nsec = (long)(due_ns % CLOCK_SECOND_NS),
	} };
	/* setting it again makes it not ready */
	if (rec->due_fd < 0 || timerfd_settime(rec->due_fd, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		return -1;
	return rec->due_fd;
}

/* Waits for records, the end of a target, one of fds, or the next reading of labels.  *ret_gone: no
 * target is left. */
static int wait_for_records(struct cprof_recorder *rec, int timeout_ms, const int *fds,
			    size_t n_fds, bool *ret_ready, bool *ret_gone, struct err *e)
{
	size_t n = rec->watch.n + n_fds;
	int due_fd = set_due(rec);
	CLEANUP_FREE int *fd = calloc(n + 1, sizeof(*fd));
	CLEANUP_FREE bool *ready = calloc(n + 1, sizeof(*ready));
	if (!fd || !ready)
		return err_errno(e, ENOMEM, "cannot wait for records");
	if (rec->watch.n)
		memcpy(fd, rec->watch.pidfd, rec->watch.n * sizeof(*fd));
	if (n_fds)
		memcpy(fd + rec->watch.n, fds, n_fds * sizeof(*fd));
	timeout_ms = clock_sooner_ms(timeout_ms, readers_labels_timeout_ms(&rec->readers));
	if (rec->live)
		timeout_ms = clock_sooner_ms(timeout_ms,
					     livecode_timeout_ms(rec->live, clock_monotonic_ns()));
	if (rec->kind->timeout_ms)
		timeout_ms = clock_sooner_ms(timeout_ms, rec->kind->timeout_ms(&rec->session));
	if (due_fd >= 0)
		fd[n] = due_fd;
	int r = source_wait(rec->session.source, timeout_ms, fd, n + (due_fd >= 0), ready);
	if (r < 0 && r != -EINTR)
		return err_errno(e, -r, "cannot wait for records");
	for (size_t i = 0; i < n_fds && ret_ready; i++)
		ret_ready[i] = r == 0 && ready[rec->watch.n + i];
	*ret_gone = targets_gone(rec, ready);
	return 0;
}

int recorder_take_in(struct cprof_recorder *rec, bool reads_counters, struct err *e)
{
	slices_scatter(&rec->slices);
	if (!rec->window.is_open && clock_monotonic_ns() >= rec->engine.window.start_ns)
		open_window(rec);
	uint64_t drained_ns = clock_monotonic_ns();
	if (reads_counters)
		window_read(&rec->window);
	applabels_poll(&rec->engine.app);
	golabels_poll(&rec->engine.go);
	engine_tick_functions(&rec->engine, drained_ns);
	source_limit(rec->session.source, drained_ns);
	int r = drain_source(rec, e);
	if (r < 0)
		return r;
	adapt_readers(rec, drained_ns);
	window_drained(&rec->window, drained_ns);
	if (rec->kind->drained)
		rec->kind->drained(&rec->session, &rec->engine, drained_ns);
	if (reads_counters || slices_are_due(&rec->slices, drained_ns))
		engine_settle(&rec->engine, drained_ns);
	r = cost_adapt(&rec->cost, e);
	if (r < 0)
		return r;
	r = slices_are_due(&rec->slices, drained_ns) ? readers_absorb(&rec->readers, e) : 0;
	if (r < 0)
		return r;
	r = slices_advance(&rec->slices, drained_ns, e);
	if (r < 0)
		return r;
	collect_garbage(rec, clock_monotonic_ns());
	r = readers_collect(&rec->readers, clock_monotonic_ns(), e);
	readers_note_left(&rec->readers, clock_monotonic_ns());
	return r;
}

int cprof_recorder_step(struct cprof_recorder *rec, int timeout_ms, const int *fds, size_t n_fds,
			bool *ret_ready, struct err *e)
{
	bool gone = false;
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	r = wait_for_records(rec, timeout_ms, fds, n_fds, ret_ready, &gone, e);
	if (r < 0)
		return r;
	r = window_tend(&rec->window, e);
	if (r < 0)
		return r;
	r = recorder_take_in(rec, false, e);
	if (r < 0)
		return r;
	return gone ? CPROF_TARGET_GONE : CPROF_RUNNING;
}

void cprof_recorder_command_started(struct cprof_recorder *rec)
{
	rec->engine.targets.started_ns = clock_monotonic_ns();
}

void cprof_recorder_command_used(struct cprof_recorder *rec, uint64_t cpu_ns)
{
	coverage_command_used(&rec->coverage, cpu_ns);
}

/* ---- the end --------------------------------------------------------------------------- */

int cprof_recorder_stop(struct cprof_recorder *rec, struct err *e)
{
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	if (!rec->started || rec->stopped)
		return err_set(e, EINVAL, "the recorder is not started");
	rec->stopped = true;
	if (!rec->window.is_open) {
		/* If the delay is not over, no sample counts, and the user learns why. */
		uint64_t start_ns = rec->engine.window.start_ns;
		open_window(rec);
		if (rec->engine.window.start_ns < start_ns)
			rec->engine.window.start_ns = start_ns;
	}
	source_disable(rec->session.source);
	window_end(&rec->window);
	coverage_stop(&rec->coverage, &rec->engine.procs);
	readers_poll_jit(&rec->readers, rec->window.end_ns, true);
	slices_scatter(&rec->slices);
	source_limit(rec->session.source, UINT64_MAX);
	r = drain_source(rec, e);
	/* Of two sets of events that replace each other, the samples say what counts. */
	window_read(&rec->window);
	engine_settle(&rec->engine, rec->window.end_ns);
	if (rec->kind->ended)
		rec->kind->ended(&rec->session, &rec->engine, rec->window.end_ns);
	if (r < 0)
		goto out;
	r = readers_absorb(&rec->readers, e);
	if (r < 0)
		goto out;
	r = slices_gather(&rec->slices, e);
out:
	/* Records that arrived before an error still make a profile. */
	recorder_count(rec);
	cost_stop(&rec->cost);
	return r;
}
