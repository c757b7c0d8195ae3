/*
 * cprof top: records, and shows each second what came.  Every refresh is a profile of its own: a
 * snapshot, written into memory and read again as any profile is (top-tally.c), behind which the
 * recorder begins anew.  While the display is frozen there are no refreshes, and
 * the recorder goes on gathering.
 */

#include "base/err.h"
#include "base/membuf.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/launch.h"
#include "cmd/recordopts.h"
#include "cmd/signals.h"
#include "cmd/top-screen.h"
#include "cmd/top-tally.h"
#include "cmd/top-view.h"
#include "cprof.h"
#include "proto/outfile.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define STEP_MS 100
/* One file's debug information must not keep the display waiting. */
#define SYMBOL_TIMEOUT_NS (2 * (uint64_t)SECOND_NS)
#define LIMIT_BATCH 20u

struct top_options {
	uint64_t batch;                /* refreshes; 0: on the screen */
	uint64_t interval_ns, window_ns, symbol_timeout_ns, limit;
	const char *output;
};

struct top {
	struct top_options o;
	struct recordopts rec;
	struct signals signals;
	struct launch launch;
	struct top_screen screen;
	struct term term;
	struct cprof_recorder *recorder;
	struct top_tally *tally;       /* per event */
	struct top_view_losses *losses;
	size_t n_events, event;        /* event: the one shown */
	struct top_tally_table functions, threads;
	enum top_tally_order order;
	uint32_t thread;
	size_t first;
	bool frozen, help, ended, quit;
	int ended_by;
	char message[ERR_TEXT_MAX], target[128];
	char *cache_dir;
	uint64_t taken_ns, shown_ns, own_cpu_ns, n_written;
	double own_cpu;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* As in cprof record: while it waits for records, the reader must not wait behind others. */
static void set_realtime(bool on)
{
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

/* ---- options --------------------------------------------------------------------- */

enum { OPT_BATCH = 700, OPT_WINDOW, OPT_LIMIT, OPT_SYMBOL_TIMEOUT };

static const struct argp_option own_options[] = {
	{ NULL, 0, NULL, 0, "Display:", 10 },
	{ "batch", OPT_BATCH, "N", 0, "Print N refreshes as text and end; needs no terminal", 10 },
	{ "interval", 'd', "TIME", 0, "From one refresh to the next; default: 1s", 10 },
	{ "window", OPT_WINDOW, "TIME", 0, "How long the last seconds are; default: 10s", 10 },
	{ "limit", OPT_LIMIT, "N", 0,
	  "At most N functions; default: what fits, with --batch 20; 0: all", 10 },
	{ "symbol-timeout", OPT_SYMBOL_TIMEOUT, "TIME", 0,
	  "Longest time for one file's debug information; default: 2s", 10 },
	{ "output", 'o', "FILE", 0,
	  "Where the key w writes to; default: cprof-top.1.pb.gz, then 2 ...", 10 },
	{ 0 }
};

static uint64_t parse_number(struct argp_state *state, const char *option, const char *arg,
			     uint64_t min)
{
	uint64_t n = 0;
	if (units_parse_u64(arg, &n) < 0 || n < min || n > UINT32_MAX)
		argp_error(state, "%s '%s' is not a number from %" PRIu64 " on", option, arg, min);
	return n;
}

static uint64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t ns = 0;
	if (units_parse_duration(arg, &ns) < 0 || ns < SECOND_NS / 10 || ns > 3600llu * SECOND_NS)
		argp_error(state, "%s '%s' is not a time from 100ms to 60m", option, arg);
	return ns;
}

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
	struct top_options *o = state->input;
	switch (key) {
	case OPT_BATCH: o->batch = parse_number(state, "--batch", arg, 1); return 0;
	case 'd': o->interval_ns = parse_time(state, "--interval", arg); return 0;
	case OPT_WINDOW: o->window_ns = parse_time(state, "--window", arg); return 0;
	case OPT_SYMBOL_TIMEOUT:
		o->symbol_timeout_ns = parse_time(state, "--symbol-timeout", arg);
		return 0;
	case OPT_LIMIT: o->limit = parse_number(state, "--limit", arg, 0); return 0;
	case 'o': o->output = arg; return 0;
	case ARGP_KEY_END:
		if (o->limit == UINT64_MAX)
			o->limit = o->batch ? LIMIT_BATCH : 0;
		if (o->batch && o->output)
			argp_error(state, "--output is for the key w, which --batch does not have");
		if (o->window_ns < o->interval_ns)
			o->window_ns = o->interval_ns;
		if (o->window_ns / o->interval_ns > 600)
			argp_error(state, "--window is more than 600 times --interval");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void parse_options(struct top *top, int argc, char **argv)
{
	static const char *const record_options[] = {
		"pid", "tid", "no-inherit", "scope", "event", "freq", "count", "adaptive", "user",
		"kernel", "call-graph", "max-depth", "ring-size", "max-memory",
		NULL
	};
	static const struct argp own = { .options = own_options, .parser = parse_own };
	const struct recordopts_subset subset = {
		.name = record_options, .own = &own, .own_input = &top->o,
		.doc = "Show live which functions and threads cost most.\v"
		       "Keys: h shows them, q quits.  A command's output goes to /dev/null if it "
		       "would go to the terminal, and the command ends with cprof top.",
	};
	top->o = (struct top_options){ .interval_ns = SECOND_NS, .limit = UINT64_MAX,
				       .window_ns = 10 * (uint64_t)SECOND_NS,
				       .symbol_timeout_ns = SYMBOL_TIMEOUT_NS };
	recordopts_parse_subset(&top->rec, &subset, argc, argv);
	top->rec.subset = NULL;
	struct cprof_config *c = &top->rec.config;
	c->labels = CPROF_LABEL_PID | CPROF_LABEL_TID | CPROF_LABEL_THREAD_NAME;
	c->labels_given = true;
	c->symbol_timeout_ns = top->o.symbol_timeout_ns;
}

static void describe_target(struct top *top)
{
	const struct cprof_config *c = &top->rec.config;
	size_t n = 0, size = sizeof(top->target);
	if (top->rec.command) {
		snprintf(top->target, size, "%s", top->rec.command[0]);
		return;
	}
	for (size_t i = 0; i < c->n_pids && n < size; i++)
		n += (size_t)snprintf(top->target + n, size - n, "%sPID %d", i ? ", " : "",
				      (int)c->pid[i]);
	for (size_t i = 0; i < c->n_tids && n < size; i++)
		n += (size_t)snprintf(top->target + n, size - n, "%sTID %d", n ? ", " : "",
				      (int)c->tid[i]);
}

/* ---- one refresh ------------------------------------------------------------------- */

static void add_losses(struct top_view_losses *l, const struct cprof_stats *st,
		       const struct cprof_event_stats *ev)
{
	l->n_samples += ev->n_samples;
	l->n_lost += ev->n_lost;
	l->n_throttles += ev->n_throttles;
	l->n_cut += st->n_cut;
	l->n_truncated += st->n_truncated;
	l->n_dropped += st->n_dropped;
	l->n_undecodable += st->n_undecodable;
}

static int take_event(struct top *top, size_t i, uint64_t duration_ns, struct err *e)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	struct membuf b = { 0 };
	int code = 0;
	cprof_recorder_stats(top->recorder, &st);
	cprof_recorder_event_stats(top->recorder, i, &ev);
	add_losses(&top->losses[i], &st, &ev);
	if (ev.n_samples || ev.n_lost_shown)
		code = cprof_recorder_write(top->recorder, i, membuf_write, &b, e);
	if (code < 0) {
		VEC_FREE(&b.bytes);
		return code;
	}
	struct top_tally_part part = { b.bytes.v, b.bytes.n };
	return top_tally_add(&top->tally[i], part, duration_ns, e);
}

static int make_tables(struct top *top, struct err *e)
{
	struct top_tally *tally = &top->tally[top->event];
	VEC_FREE(&top->functions.rows);
	VEC_FREE(&top->threads.rows);
	int code = top_tally_threads(tally, &top->threads, e);
	if (code == 0)
		code = top_tally_functions(tally, top->thread, top->order, &top->functions, e);
	return code;
}

static int refresh(struct top *top, struct err *e)
{
	/* Behind the end of the command there is nothing to take a snapshot of. */
	if (top->ended)
		return 0;
	set_realtime(false);
	int code = cprof_recorder_snapshot(top->recorder, e);
	/* The recorder's own windows leave out the time from the snapshot to its end. */
	uint64_t taken_ns = now_ns(CLOCK_MONOTONIC), duration_ns = taken_ns - top->taken_ns;
	top->taken_ns = taken_ns;
	for (size_t i = 0; i < top->n_events && code == 0; i++)
		code = take_event(top, i, duration_ns, e);
	if (code == 0)
		code = cprof_recorder_clear(top->recorder, e);
	if (code == 0)
		code = make_tables(top, e);
	uint64_t now = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	top->own_cpu = (double)(cpu - top->own_cpu_ns) / (double)(now - top->shown_ns + 1);
	top->shown_ns = now;
	top->own_cpu_ns = cpu;
	set_realtime(true);
	return code;
}

static void draw(struct top *top)
{
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(top->recorder, top->event, &ev);
	struct top_view v = {
		.target = top->target, .event = ev.name, .unit = ev.unit, .freq_hz = ev.freq_hz,
		.period = ev.period, .message = top->message[0] ? top->message : NULL,
		.is_frozen = top->frozen, .has_ended = top->ended, .wants_help = top->help,
		.own_cpu = top->own_cpu, .losses = top->losses[top->event],
		.tally = &top->tally[top->event], .functions = &top->functions,
		.threads = &top->threads, .order = top->order, .thread = top->thread,
		.first = top->first,
	};
	if (top->o.batch) {
		top_view_print(&v, &top->term, 0, top->o.limit);
		fputc('\n', stdout);
		fflush(stdout);
		return;
	}
	char *text = NULL;
	size_t n = 0;
	top->term.out = open_memstream(&text, &n);
	if (!top->term.out)
		return;
	top->term.width = top->screen.width;
	top_view_print(&v, &top->term, top->screen.height, top->o.limit);
	if (fclose(top->term.out) == 0)
		top_screen_draw(&top->screen, text);
	top->term.out = NULL;
	free(text);
}

/* ---- keys ------------------------------------------------------------------------------ */

static void say(struct top *top, const char *what)
{
	snprintf(top->message, sizeof(top->message), "%s", what);
}

static void write_profile(struct top *top)
{
	const struct top_tally *tally = &top->tally[top->event];
	const struct top_view_losses *l = &top->losses[top->event];
	struct outfile f;
	struct err e = { 0 };
	char path[64], comment[256];
	const char *name = top->o.output;
	for (uint64_t i = top->n_written + 1; !top->o.output; i++) {
		snprintf(path, sizeof(path), "cprof-top.%" PRIu64 ".pb.gz", i);
		name = path;
		top->n_written = i;
		if (access(path, F_OK) < 0)
			break;
	}
	snprintf(comment, sizeof(comment), "cprof top: %" PRIu64 " samples, %" PRIu64
		 " lost, %" PRIu64 " stacks without their outer frames, %" PRIu64 " dropped",
		 l->n_samples, l->n_lost, l->n_cut + l->n_truncated, l->n_dropped);
	int code = outfile_open(&f, name, &e);
	if (code == 0) {
		code = top_tally_write(tally, top->thread, comment, outfile_write, &f, &e);
		outfile_error(&f, &e);
		if (code == 0)
			code = outfile_commit(&f, 1, &e);
		outfile_abort(&f);
	}
	if (code < 0)
		say(top, e.what);
	else
		snprintf(top->message, sizeof(top->message), "wrote '%.400s'%s", name,
			 top->thread == TOP_TALLY_ALL ? "" : ", of this thread");
}

/* The place of the thread that is zoomed into, among those shown; n when it is none. */
static size_t thread_place(const struct top *top)
{
	size_t i = 0;
	while (i < top->threads.rows.n && top->threads.rows.v[i].name != top->thread)
		i++;
	return i;
}

static void zoom(struct top *top, size_t place)
{
	if (place >= top->threads.rows.n)
		return;
	uint32_t thread = top->threads.rows.v[place].name;
	top->thread = thread == top->thread ? TOP_TALLY_ALL : thread;
	top->first = 0;
}

static void zoom_step(struct top *top, int by)
{
	size_t n = top->threads.rows.n, at = thread_place(top);
	if (n == 0)
		return;
	if (at >= n)
		at = by > 0 ? 0 : n - 1;
	else
		at = (at + n + (size_t)(by + (int)n)) % n;
	top->thread = top->threads.rows.v[at].name;
	top->first = 0;
}

static void scroll(struct top *top, long by)
{
	long at = (long)top->first + by, last = (long)top->functions.rows.n - 1;
	top->first = at < 0 || last < 0 ? 0 : (size_t)(at > last ? last : at);
}

static int reset(struct top *top, struct err *e)
{
	int code = top->ended ? 0 : cprof_recorder_snapshot(top->recorder, e);
	top->taken_ns = now_ns(CLOCK_MONOTONIC);
	if (code == 0 && !top->ended)
		code = cprof_recorder_clear(top->recorder, e);
	for (size_t i = 0; i < top->n_events; i++) {
		top_tally_clear(&top->tally[i]);
		top->losses[i] = (struct top_view_losses){ 0 };
	}
	top->thread = TOP_TALLY_ALL;
	top->first = 0;
	say(top, "begun anew");
	return code;
}

static int press(struct top *top, int key, struct err *e)
{
	int code = 0;
	top->message[0] = '\0';
	if (key >= '1' && key <= '9')
		zoom(top, (size_t)(key - '1'));
	switch (key) {
	case 'q': case 'Q': case TOP_SCREEN_EOF: top->quit = true; return 0;
	case 's': top->order = (top->order + 1) % TOP_TALLY_N_ORDERS; break;
	case 'S': top->order = (top->order + TOP_TALLY_N_ORDERS - 1) % TOP_TALLY_N_ORDERS; break;
	case ' ': top->frozen = !top->frozen; break;
	case 't': zoom_step(top, 1); break;
	case 'T': zoom_step(top, -1); break;
	case 'a': top->thread = TOP_TALLY_ALL; break;
	case 'k': case TOP_SCREEN_UP: scroll(top, -1); break;
	case 'j': case TOP_SCREEN_DOWN: scroll(top, 1); break;
	case TOP_SCREEN_PAGE_UP: scroll(top, -10); break;
	case TOP_SCREEN_PAGE_DOWN: scroll(top, 10); break;
	case TOP_SCREEN_HOME: top->first = 0; break;
	case 'e':
		top->event = (top->event + 1) % top->n_events;
		top->thread = TOP_TALLY_ALL;  /* each event has its own list */
		break;
	case 'w': write_profile(top); break;
	case 'r': code = reset(top, e); break;
	case 'h': case '?': top->help = !top->help; break;
	}
	return code == 0 ? make_tables(top, e) : code;
}

static int take_keys(struct top *top, struct err *e)
{
	int key, code = 0;
	bool any = false;
	while (code == 0 && top->screen.is_open && !top->quit &&
	       (key = top_screen_key(&top->screen)) != TOP_SCREEN_NONE) {
		any = true;
		code = press(top, key, e);
	}
	if (any && code == 0 && !top->quit)
		draw(top);
	return code;
}

/* ---- all together ------------------------------------------------------------------------ */

static void take_signals(struct top *top)
{
	bool from_terminal;
	int signal;
	while ((signal = signals_next(&top->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD)
			continue;
		top->ended_by = signal;
		top->quit = true;
	}
	if (top->screen.is_open && top_screen_signals(&top->screen))
		draw(top);
}

/* Waits for a part of the time; *ret_gone: the target has ended. */
static int wait_some(struct top *top, uint64_t until_ns, bool *ret_gone, struct err *e)
{
	int fds[3] = { top->signals.fd, STDIN_FILENO, top->screen.signal_fd };
	bool ready[3];
	*ret_gone = false;
	if (top->ended) {
		struct pollfd p[3];
		for (int i = 0; i < 3; i++)
			p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		poll(p, top->screen.is_open ? 3 : 1, -1);
		return 0;
	}
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t left_ms = now < until_ns ? (until_ns - now + 999999) / 1000000 : 0;
	int state = cprof_recorder_step(top->recorder, left_ms < STEP_MS ? (int)left_ms : STEP_MS,
					fds, top->screen.is_open ? 3 : 1, ready, e);
	*ret_gone = state == CPROF_TARGET_GONE || launch_reap(&top->launch, false);
	return state < 0 ? state : 0;
}

static int show_last(struct top *top, struct err *e)
{
	int code = refresh(top, e);
	top->ended = true;
	top->frozen = false;
	say(top, "the target has ended; q quits, w writes a profile");
	if (code == 0)
		draw(top);
	return code;
}

static int run_loop(struct top *top, struct err *e)
{
	uint64_t next_ns = now_ns(CLOCK_MONOTONIC) + top->o.interval_ns, n = 0;
	int code = 0;
	if (!top->o.batch)
		draw(top);
	while (code == 0 && !top->quit) {
		bool gone;
		code = wait_some(top, next_ns, &gone, e);
		take_signals(top);
		if (code == 0)
			code = take_keys(top, e);
		if (code < 0 || top->quit)
			break;
		if (gone && !top->ended) {
			code = show_last(top, e);
			top->quit = top->o.batch > 0;
		}
		uint64_t now = now_ns(CLOCK_MONOTONIC);
		if (now < next_ns)
			continue;
		next_ns = now + top->o.interval_ns;
		if (top->frozen || top->ended)
			continue;
		code = refresh(top, e);
		if (code == 0)
			draw(top);
		top->quit = top->o.batch && ++n >= top->o.batch;
	}
	return code;
}

/* What would go to the screen of cprof top, or take its keys, goes nowhere. */
static int start_command(struct top *top, struct err *e)
{
	int saved[3] = { -1, -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_errno(e, errno, "cannot open '/dev/null'");
	fflush(NULL);
	for (int fd = 0; fd <= 2 && !top->o.batch; fd++) {
		if (isatty(fd) != 1)
			continue;
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(null, fd);
	}
	int code = launch_fork(&top->launch, top->rec.command, &top->signals.before, e);
	for (int fd = 0; fd <= 2; fd++) {
		if (saved[fd] < 0)
			continue;
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	close(null);
	return code;
}

static int make_tallies(struct top *top, struct err *e)
{
	size_t window = (size_t)((top->o.window_ns + top->o.interval_ns - 1) / top->o.interval_ns);
	top->n_events = cprof_recorder_n_events(top->recorder);
	top->tally = calloc(top->n_events, sizeof(*top->tally));
	top->losses = calloc(top->n_events, sizeof(*top->losses));
	if (!top->tally || !top->losses)
		return err_errno(e, ENOMEM, "cannot show the events");
	for (size_t i = 0; i < top->n_events; i++) {
		int code = top_tally_init(&top->tally[i], window, e);
		if (code < 0)
			return code;
	}
	return 0;
}

static int run(struct top *top, int *ret_status, struct err *e)
{
	struct cprof_config *c = &top->rec.config;
	int code = top->o.batch ? 0 : top_screen_check(e);
	if (code == 0)
		code = signals_open(&top->signals, 0, e);
	if (code == 0 && top->rec.command)
		code = start_command(top, e);
	if (code < 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	c->command_pid = top->launch.pid;
	c->cache_dir = top->cache_dir = cachedir_path();
	set_realtime(true);
	code = cprof_recorder_new(c, &top->recorder, e);
	if (code == 0)
		code = make_tallies(top, e);
	if (code == 0)
		code = cprof_recorder_start(top->recorder, e);
	if (code == 0 && top->rec.command) {
		code = launch_exec(&top->launch, e);
		if (code < 0)
			*ret_status = code == -ENOENT ? 127 : 126;
		else
			cprof_recorder_command_started(top->recorder);
	}
	top->taken_ns = top->shown_ns = now_ns(CLOCK_MONOTONIC);
	top->own_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (code == 0 && !top->o.batch)
		code = top_screen_open(&top->screen, e);
	if (code == 0)
		code = run_loop(top, e);
	top_screen_close(&top->screen);
	set_realtime(false);
	if (code == 0)
		*ret_status = 0;
	return code;
}

static void end_command(struct top *top)
{
	struct launch *l = &top->launch;
	sigset_t none;
	sigemptyset(&none);
	if (!l->pid || l->ended || l->go_fd >= 0)
		return;
	kill(l->pid, SIGTERM);
	kill(l->pid, SIGCONT);
	sigprocmask(SIG_SETMASK, &none, NULL);
	launch_reap(l, true);
}

static void top_done(struct top *top)
{
	end_command(top);
	launch_done(&top->launch);
	cprof_recorder_free(top->recorder);
	for (size_t i = 0; i < top->n_events && top->tally; i++)
		top_tally_done(&top->tally[i]);
	free(top->tally);
	free(top->losses);
	VEC_FREE(&top->functions.rows);
	VEC_FREE(&top->threads.rows);
	free(top->cache_dir);
	signals_close(&top->signals);
	recordopts_done(&top->rec);
}

static int run_top(int argc, char **argv)
{
	struct top top = {
		.signals.fd = -1, .launch = { .go_fd = -1, .errno_fd = -1 },
		.screen.signal_fd = -1, .thread = TOP_TALLY_ALL,
	};
	struct err e = { 0 };
	int status = CMD_FAILED;
	parse_options(&top, argc, argv);
	describe_target(&top);
	term_open(&top.term, false);
	if (top.o.batch)
		top.term = (struct term){ .out = stdout };
	int code = run(&top, &status, &e);
	if (code < 0) {
		int failed = cmd_fail("top", &e);
		status = status > CMD_FAILED ? status : failed;
	}
	top_done(&top);
	return status;
}

const struct cmd cmd_top = {
	.name = "top",
	.help = "show live which functions and threads cost most",
	.run = run_top,
};
