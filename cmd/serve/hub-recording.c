/*
 * Parts of a recording have numbers: a cut ends part `current` and begins the next one.  A client's
 * window is [from, to), in parts.  Clients who come while a recording runs begin with the next cut,
 * which waits HUB_JOIN_NS for others, so that a hundred of them need one cut and not a hundred.
 */
#include "cmd/serve/hub-recording.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

/* A recording process that does not answer is given up: names may take long, but not that long. */
#define SILENCE_NS (180 * UINT64_C(1000000000))

void hub_recording_free(struct recording *rec)
{
	struct recording **at = &rec->hub->recordings;
	while (*at != rec)
		at = &(*at)->next;
	*at = rec->next;
	rec->hub->counts.n_recordings--;
	serve_child_done(&rec->child);
	parts_done(&rec->parts);
	free(rec->pids);
	free(rec);
}

void hub_remove_client(struct hub_client *c)
{
	struct hub_client **at = &c->recording->clients;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->recording->hub->counts.n_clients--;
	free(c);
}

/* ---- results ------------------------------------------------------------------------- */

/* The processes existed, so without an event ENOENT means what they lack. */
static unsigned status_of(const struct request *r, const struct err *e)
{
	if (e->is_usage)
		return 400;
	switch (-e->code) {
	case ESRCH: return 404;
	case ENOENT: case ENODEV: return r->what == REQUEST_EVENT ? 400 : 404;
	case EPERM: case EACCES: return 403;
	case EINVAL: case EOPNOTSUPP: return 400;
	default: return 500;
	}
}

/* The client's function may do anything but free the hub. */
static void finish(struct hub_client *c, struct hub_body *body, const struct err *why)
{
	hub_done_fn *done = c->done;
	void *ctx = c->ctx;
	unsigned status = why ? status_of(&c->recording->request, why) : 200;
	hub_remove_client(c);
	done(ctx, body, status, why);
}

static void fail_all(struct recording *rec, const struct err *why)
{
	struct err copy = *why;
	while (rec->clients)
		finish(rec->clients, NULL, &copy);
}

static void finish_window(struct recording *rec, struct hub_client *c, uint64_t to)
{
	struct hub_body *body;
	struct err e = { 0 };
	if (parts_merge(&rec->parts, c->from, to, &body, &e) < 0) {
		finish(c, NULL, &e);
		return;
	}
	finish(c, body, NULL);
	hub_body_release(body);
}

/* Clients whose window ends at part `to` or before; those with no end have one now if `all`. */
static void finish_windows(struct recording *rec, uint64_t to, bool all)
{
	struct hub_client *next;
	for (struct hub_client *c = rec->clients; c; c = next) {
		next = c->next;
		if (c->from < to && (c->to <= to || all))
			finish_window(rec, c, c->to <= to ? c->to : to);
	}
}

/* Parts that no window needs any more; boundaries that no window has are merged away. */
static void forget_parts(struct recording *rec)
{
	uint64_t first = rec->parts.end;
	for (const struct hub_client *c = rec->clients; c; c = c->next)
		if (c->from < first)
			first = c->from;
	parts_forget(&rec->parts, first);
	if (!parts_are_many(&rec->parts))
		return;
	CLEANUP_VEC VEC(uint64_t) keep = { 0 };
	for (const struct hub_client *c = rec->clients; c; c = c->next)
		if (!VEC_PUSH(&keep, c->from))
			return;
	parts_compact(&rec->parts, keep.v, keep.n);
}

/* ---- what the process sends ---------------------------------------------------------- */

static void take_part(struct recording *rec)
{
	struct serve_child *child = &rec->child;
	struct hub_counts *n = &rec->hub->counts;
	struct err e = { 0 };
	rec->is_cutting = false;
	rec->silent_ns = rec->is_stopping ? clock_monotonic_ns() : 0;
	n->n_parts++;
	n->n_samples += child->frame.n_samples;
	n->n_lost += child->frame.n_lost;
	/* Writers report the recording's time and their own, so it is not always more. */
	if (child->frame.cpu_ns > rec->cpu_ns) {
		n->cpu_ns += child->frame.cpu_ns - rec->cpu_ns;
		rec->cpu_ns = child->frame.cpu_ns;
	}
	if (parts_add(&rec->parts, child->bytes.v, child->bytes.n, child->frame.n_samples,
		      child->frame.n_lost) < 0) {
		err_errno(&e, ENOMEM, "cannot keep the profile");
		fail_all(rec, &e);
		return;
	}
	child->bytes.v = NULL;
	child->bytes.n = child->bytes.cap = 0;
	finish_windows(rec, rec->parts.end, false);
	forget_parts(rec);
}

static void take_end(struct recording *rec)
{
	struct err e = { 0 };
	/* The targets may have ended before the windows did. */
	finish_windows(rec, rec->parts.end, true);
	err_set(&e, ESRCH, "the processes have ended");
	fail_all(rec, &e);
}

/* False when the recording is over. */
static bool take_events(struct recording *rec, uint64_t now_ns)
{
	for (;;) {
		switch (serve_child_next(&rec->child)) {
		case SERVE_CHILD_NOTHING:
			return true;
		case SERVE_CHILD_BEGAN:
			rec->has_begun = true;
			rec->silent_ns = rec->request.kind == REQUEST_SNAPSHOT ? now_ns : 0;
			for (struct hub_client *c = rec->clients; c; c = c->next)
				c->begin_ns = now_ns;
			break;
		case SERVE_CHILD_CUT:
			for (struct hub_client *c = rec->clients; c; c = c->next)
				if (c->from == rec->current && !c->begin_ns)
					c->begin_ns = now_ns;
			break;
		case SERVE_CHILD_PART:
			take_part(rec);
			if (!rec->clients)
				return false;
			break;
		case SERVE_CHILD_FAILED:
			fail_all(rec, &rec->child.why);
			return false;
		case SERVE_CHILD_ENDED:
			take_end(rec);
			return false;
		}
	}
}

/* ---- cuts ---------------------------------------------------------------------------- */

static bool is_due(const struct hub_client *c, uint64_t now_ns)
{
	return c->to == HUB_NOT_YET && c->begin_ns && c->window_ns != HUB_NOT_YET &&
	       now_ns - c->begin_ns >= c->window_ns;
}

static void cut(struct recording *rec, bool is_last, uint64_t now_ns)
{
	for (struct hub_client *c = rec->clients; c; c = c->next) {
		if (is_due(c, now_ns))
			c->to = rec->current + 1;
		else if (c->from == HUB_NOT_YET)
			c->from = rec->current + 1;
	}
	serve_child_command(&rec->child, is_last ? SERVE_JOB_STOP : SERVE_JOB_CUT);
	rec->current++;
	rec->is_cutting = true;
	rec->is_stopping = is_last;
	rec->joined_ns = 0;
	rec->silent_ns = now_ns;
}

static void cut_if_due(struct recording *rec, uint64_t now_ns)
{
	size_t n_due = 0, n_waiting = 0, n_running = 0;
	if (!rec->has_begun || rec->is_cutting || rec->is_stopping)
		return;
	for (const struct hub_client *c = rec->clients; c; c = c->next) {
		n_due += is_due(c, now_ns);
		n_waiting += c->from == HUB_NOT_YET;
		n_running += c->from != HUB_NOT_YET && !is_due(c, now_ns);
	}
	bool may_join = n_waiting && now_ns - rec->joined_ns >= HUB_JOIN_NS;
	if (n_due && !n_waiting && !n_running)
		cut(rec, true, now_ns);
	else if (n_due || may_join)
		cut(rec, false, now_ns);
}

void hub_recording_run(struct recording *rec, uint64_t now_ns)
{
	struct err e = { 0 };
	bool goes_on = take_events(rec, now_ns);
	if (goes_on && rec->silent_ns && now_ns - rec->silent_ns > SILENCE_NS) {
		err_set(&e, ETIMEDOUT, "the recording process does not answer");
		fail_all(rec, &e);
		goes_on = false;
	}
	if (!goes_on)
		hub_recording_free(rec);
	else
		cut_if_due(rec, now_ns);
}

uint64_t hub_recording_due_ns(const struct recording *rec)
{
	uint64_t due = rec->silent_ns ? rec->silent_ns + SILENCE_NS : HUB_NOT_YET;
	if (!rec->has_begun || rec->is_cutting || rec->is_stopping)
		return due;
	if (rec->joined_ns && rec->joined_ns + HUB_JOIN_NS < due)
		due = rec->joined_ns + HUB_JOIN_NS;
	for (const struct hub_client *c = rec->clients; c; c = c->next)
		if (c->begin_ns && c->to == HUB_NOT_YET && c->window_ns != HUB_NOT_YET &&
		    c->begin_ns + c->window_ns < due)
			due = c->begin_ns + c->window_ns;
	return due;
}
