/*
 * One thread, one poll: records, signals, commands, and the end of a part's writer wake it.
 * Signals and commands take effect at once, except that only one part is written at a time: a
 * request for another part waits here until the writer has finished, while recording continues.
 */
#include "cmd/record/recordloop.h"

#include "base/clock.h"
#include "base/err.h"
#include "cmd/record/eventlines.h"
#include "cmd/record/recording.h"
#include "cprof.h"

#include <signal.h>
#include <stdio.h>

/* The longest time that records stay in a ring that is not full enough for a wake-up. */
#define STEP_MS 100

struct loop {
	struct recording *rec;
	uint64_t end_ns;
	uint64_t checked_ns;   /* when --trigger was last checked */
	bool wants_part;       /* as soon as the writer is free */
	unsigned acks_wanted;  /* snapshot commands that wait for the next part */
	unsigned acks_writing; /* snapshot commands that wait for the part being written */
	bool over;
};

static void print_message(const struct loop *l, const char *format, const char *what)
{
	if (!l->rec->opts.quiet)
		fprintf(stderr, format, what);
}

/* ---- signals and commands ------------------------------------------------------------ */

static void take_signals(struct loop *l)
{
	struct recording *rec = l->rec;
	int signal;
	bool from_terminal = false;
	while ((signal = signals_next(&rec->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD)
			continue;
		if (signal == rec->opts.part.signal) {
			l->wants_part = true;
			continue;
		}
		rec->ended_by = signal;
		rec->from_terminal = from_terminal;
		l->over = true;
	}
	l->over |= launch_poll(&rec->launch, &rec->realtime);
}

/* argument: "" for all events, " NAME" for one. */
static int switch_events(struct loop *l, bool on, const char *argument, struct err *e)
{
	struct cprof_recorder *recorder = l->rec->recorder;
	int (*change)(struct cprof_recorder *, size_t, struct err *) =
		on ? cprof_recorder_resume : cprof_recorder_pause;
	const char *word = on ? "enabled" : "disabled";
	if (!*argument) {
		int r = change(recorder, CPROF_ALL_EVENTS, e);
		if (r < 0)
			return r;
		print_message(l, "Events %s\n", word);
		return 0;
	}
	if (*argument != ' ') {
		print_message(l, "failed: wrong command\n", "");
		return 0;
	}
	int event = cprof_recorder_find_event(recorder, argument + 1);
	if (event < 0) {
		print_message(l, "failed: can't find '%s' event\n", argument + 1);
		return 0;
	}
	int r = change(recorder, (size_t)event, e);
	if (r < 0)
		return r;
	if (!l->rec->opts.quiet)
		fprintf(stderr, "Event %s %s\n", argument + 1, word);
	return 0;
}

static int take_commands(struct loop *l, struct err *e)
{
	struct control *c = &l->rec->control;
	struct control_command command;
	while (!l->over && control_next(c, &command)) {
		bool acks = true;
		int r = 0;
		switch (command.verb) {
		case CONTROL_ENABLE:
		case CONTROL_DISABLE:
			r = switch_events(l, command.verb == CONTROL_ENABLE, command.argument, e);
			break;
		case CONTROL_EVLIST:
			if (!eventlines_print(l->rec->recorder, command.argument, stderr))
				print_message(l, "unsupported evlist command '%s'\n",
					      command.argument);
			break;
		case CONTROL_SNAPSHOT:
			l->wants_part = true;
			l->acks_wanted++;
			acks = false;
			break;
		case CONTROL_STOP:
			/* perf ends its command with this signal, too. */
			l->rec->ended_by = SIGTERM;
			l->over = true;
			break;
		case CONTROL_ACK:
			acks = false;
			break;
		case CONTROL_PING:
		case CONTROL_UNKNOWN:
			break;
		}
		if (acks)
			control_ack(c);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- parts ------------------------------------------------------------------------------ */

static void acknowledge_part(struct loop *l)
{
	for (; l->acks_writing; l->acks_writing--)
		control_ack(&l->rec->control);
}

/* Writes a snapshot, or with --switch-output a complete file, after which the next one begins. */
static int begin_part(struct loop *l, struct err *e)
{
	struct recording *rec = l->rec;
	struct cprof_stats stats;
	uint64_t now_ns = clock_monotonic_ns();
	int r = cprof_recorder_snapshot(rec->recorder, e);
	if (r < 0)
		return r;
	r = partwriter_begin(&rec->parts, rec->recorder, e);
	if (r < 0)
		return r;
	l->acks_writing = l->acks_wanted;
	l->acks_wanted = 0;
	l->wants_part = false;
	if (rec->opts.part.rotate.kind == ROTATE_NEVER)
		return 0;
	r = cprof_recorder_clear(rec->recorder, e);
	cprof_recorder_stats(rec->recorder, &stats);
	rec->clock = (struct rotate_clock){ now_ns, stats.record_bytes };
	return r;
}

static void check_trigger(struct loop *l)
{
	struct trigger *t = &l->rec->opts.part.trigger;
	double value;
	uint64_t now = clock_monotonic_ns();
	if (!t->text || now - l->checked_ns < TRIGGER_INTERVAL_NS)
		return;
	l->checked_ns = now;
	if (!targetuse_read(&l->rec->use, t->metric, now, &value) ||
	    !trigger_feed(t, value, now))
		return;
	char text[32];
	print_message(l, "--trigger %s: ", t->text);
	print_message(l, "it is %s\n", trigger_value_text(t, value, text, sizeof(text)));
	l->wants_part = true;
}

static int write_due_parts(struct loop *l, struct err *e)
{
	struct recording *rec = l->rec;
	struct cprof_stats stats;
	if (partwriter_poll(&rec->parts, false))
		acknowledge_part(l);
	const struct rotate_spec *rotate = &rec->opts.part.rotate;
	if (rotate->kind == ROTATE_SIZE || rotate->kind == ROTATE_TIME) {
		cprof_recorder_stats(rec->recorder, &stats);
		l->wants_part |= rotate_is_due(rotate, &rec->clock, clock_monotonic_ns(),
						stats.record_bytes);
	}
	check_trigger(l);
	return l->wants_part && !rec->parts.pid ? begin_part(l, e) : 0;
}

/* ---- the loop ---------------------------------------------------------------------------- */

static int step_ms(const struct loop *l)
{
	uint64_t now = clock_monotonic_ns();
	int ms = rotate_wait_ms(&l->rec->opts.part.rotate, &l->rec->clock, now, STEP_MS);
	if (l->end_ns <= now)
		return 0;
	uint64_t left_ms = (l->end_ns - now + 999999) / 1000000;
	return left_ms < (uint64_t)ms ? (int)left_ms : ms;
}

static int record_step(struct loop *l, struct err *e)
{
	struct recording *rec = l->rec;
	int fds[3] = { rec->signals.fd };
	size_t n = 1;
	if (rec->control.fd >= 0)
		fds[n++] = rec->control.fd;
	if (rec->parts.pid)
		fds[n++] = rec->parts.fd;
	bool ready[3] = { false };
	int state = cprof_recorder_step(rec->recorder, step_ms(l), fds, n, ready, e);
	if (state < 0)
		return state;
	int r = take_commands(l, e);
	/* SIGCHLD reports the end of the command. */
	if (ready[0])
		take_signals(l);
	l->over |= state == CPROF_TARGET_GONE || clock_monotonic_ns() >= l->end_ns;
	if (r < 0 || l->over)
		return r;
	return write_due_parts(l, e);
}

int recordloop_run(struct recording *rec, struct err *e)
{
	const struct recordopts *o = &rec->opts;
	const struct cprof_config *c = &o->target.config;
	struct loop l = { .rec = rec, .end_ns = UINT64_MAX };
	targetuse_init(&rec->use, &rec->host, c->pid, c->n_pids, c->tid, c->n_tids,
		       rec->launch.pid);
	rec->use.all = c->all_processes;
	if (o->duration_ns)
		l.end_ns = clock_monotonic_ns() + o->duration_ns + c->delay_ns;
	rec->clock = (struct rotate_clock){ clock_monotonic_ns(), 0 };
	if (c->start_paused)
		print_message(&l, "Events disabled\n", "");
	while (!l.over) {
		int r = record_step(&l, e);
		if (r < 0)
			return r;
	}
	/* Requests that came just before the end are still served. */
	for (int round = 0; round < 2; round++) {
		partwriter_poll(&rec->parts, true);
		acknowledge_part(&l);
		int r = l.wants_part ? begin_part(&l, e) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
