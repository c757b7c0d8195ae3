/* Finds the recording of a request, or starts one; the rest is in hub-recording.c. */
#include "cmd/serve/hub-recording.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hub *hub_new(const struct hub_limits *limits, int program_fd)
{
	struct hub *h = calloc(1, sizeof(*h));
	if (h)
		*h = (struct hub){ .limits = *limits, .program_fd = program_fd };
	return h;
}

void hub_body_release(struct hub_body *b)
{
	if (!b || --b->n_refs)
		return;
	free(b->data);
	free(b);
}

void hub_leave(struct hub_client *c)
{
	struct recording *rec = c->recording;
	hub_remove_client(c);
	if (!rec->clients)
		hub_recording_free(rec);
}

void hub_free(struct hub *h)
{
	while (h && h->recordings) {
		while (h->recordings->clients)
			hub_remove_client(h->recordings->clients);
		hub_recording_free(h->recordings);
	}
	free(h);
}

/* ---- new clients --------------------------------------------------------------------- */

static bool is_same(const struct recording *rec, const struct request *r, const char *pids,
		    const struct peer *p)
{
	return rec->is_shared && !rec->is_stopping && rec->request.what == r->what &&
	       rec->request.is_period == r->is_period &&
	       strcmp(rec->request.event, r->event) == 0 &&
	       strcmp(rec->request.rate, r->rate) == 0 && strcmp(rec->pids, pids) == 0 &&
	       peer_is_equal(&rec->peer, p);
}

static int start_recording(struct hub *h, const struct request *r, const char *pids,
			   const struct peer *p, struct recording **ret, struct err *e)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	char *copy = strdup(pids);
	if (!rec || !copy || serve_child_start(&rec->child, h->program_fd, r, pids, p, e) < 0) {
		if (!rec || !copy)
			err_errno(e, ENOMEM, "cannot start a recording");
		free(copy);
		free(rec);
		return 500;
	}
	rec->hub = h;
	rec->request = *r;
	rec->peer = *p;
	rec->pids = copy;
	/* What is in use at the end of two parts cannot be added. */
	rec->is_shared = r->kind == REQUEST_PROFILE && r->what != REQUEST_HEAP;
	rec->silent_ns = clock_monotonic_ns();
	rec->next = h->recordings;
	h->recordings = rec;
	h->counts.n_started++;
	h->counts.n_recordings++;
	*ret = rec;
	return 0;
}

/* Others than root and the server's user get half of everything, so that nobody can keep these two
 * out. */
static bool has_room(const struct hub *h, const struct peer *p, bool is_new)
{
	uint64_t n_recordings = h->limits.n_recordings, n_clients = h->limits.n_clients;
	if (!p->is_server) {
		n_recordings = (n_recordings + 1) / 2;
		n_clients /= 2;
	}
	return h->counts.n_clients < n_clients &&
	       (!is_new || h->counts.n_recordings < n_recordings);
}

int hub_join(struct hub *h, const struct request *r, const char *pids, const struct peer *p,
	     hub_done_fn *done, void *ctx, struct hub_client **ret, struct err *e)
{
	struct recording *rec = h->recordings;
	while (rec && !is_same(rec, r, pids, p))
		rec = rec->next;
	if (!has_room(h, p, !rec)) {
		err_set(e, EBUSY, "%llu recording%s for %llu client%s already running",
			(unsigned long long)h->counts.n_recordings, units_s(h->counts.n_recordings),
			(unsigned long long)h->counts.n_clients, units_s(h->counts.n_clients));
		return 503;
	}
	struct hub_client *c = calloc(1, sizeof(*c));
	if (!c) {
		err_errno(e, ENOMEM, "cannot start a recording");
		return 500;
	}
	int status = rec ? 0 : start_recording(h, r, pids, p, &rec, e);
	if (status) {
		free(c);
		return status;
	}
	*c = (struct hub_client){
		.next = rec->clients, .recording = rec, .from = rec->has_begun ? HUB_NOT_YET : 0,
		.to = HUB_NOT_YET, .done = done, .ctx = ctx,
		.window_ns = r->kind == REQUEST_SNAPSHOT ? HUB_NOT_YET : r->window_ns,
	};
	rec->clients = c;
	h->counts.n_clients++;
	if (rec->has_begun && !rec->joined_ns)
		rec->joined_ns = clock_monotonic_ns();
	*ret = c;
	return 0;
}

void hub_run(struct hub *h, uint64_t now_ns)
{
	struct recording *next;
	for (struct recording *rec = h->recordings; rec; rec = next) {
		next = rec->next;
		hub_recording_run(rec, now_ns);
	}
}

/* ---- waiting ------------------------------------------------------------------------- */

bool hub_add_fds(const struct hub *h, struct hub_fds *fds)
{
	for (const struct recording *rec = h->recordings; rec; rec = rec->next) {
		struct pollfd control = { .fd = rec->child.control_fd, .events = POLLIN };
		struct pollfd data = { .fd = rec->child.data_fd, .events = POLLIN };
		if (!VEC_PUSH(&fds->fd, control) || !VEC_PUSH(&fds->fd, data))
			return false;
	}
	return true;
}

int hub_timeout_ms(const struct hub *h, uint64_t now_ns)
{
	uint64_t due = HUB_NOT_YET;
	for (const struct recording *rec = h->recordings; rec; rec = rec->next)
		if (hub_recording_due_ns(rec) < due)
			due = hub_recording_due_ns(rec);
	if (due == HUB_NOT_YET)
		return -1;
	return due <= now_ns ? 0 : (int)((due - now_ns + 999999) / 1000000);
}

void hub_count(const struct hub *h, struct hub_counts *ret)
{
	*ret = h->counts;
}
