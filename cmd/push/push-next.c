/*
 * One batch: the oldest profiles, in order.  Each of them leaves the spool when its fate is known
 * and recorded, so whatever ends the program, none is sent twice; see push-state.h.
 */

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/push/push-body.h"
#include "cmd/push/push-token.h"
#include "cmd/push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define BATCH_BYTES_MAX ((size_t)1 << 20)

struct batch {
	struct push_item *item[PUSH_BATCH_MAX];
	size_t n, n_bytes;
	bool is_report;
};

void push_say(const struct push *p, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	if (p->opts.is_quiet)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fputs("cprof push: ", stderr);
	printable_text(stderr, text);
	fputc('\n', stderr);
}

/* Dropped profiles can be many: one line in ten minutes, and all are counted. */
static void say_dropped(struct push *p, size_t n, const char *why)
{
	uint64_t now = clock_monotonic_ns();
	if (p->dropped_told_ns && now - p->dropped_told_ns < PUSH_PACE_TELL_NS)
		return;
	p->dropped_told_ns = now ? now : 1;
	push_say(p, "dropped %zu profile%s: %s", n, units_s(n), why);
}

static uint64_t random_number(void)
{
	uint64_t n = 0;
	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
		n = clock_monotonic_ns();
	return n;
}

/* ---- what is in the batch ------------------------------------------------------------ */

static void batch_done(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		push_item_free(b->item[i]);
	b->n = 0;
}

static void drop_unreadable(struct push *p, const struct spool_name *name, const struct err *why)
{
	push_state_lose(&p->state, PUSH_LOST_UNREADABLE, 1);
	say_dropped(p, 1, why->what);
	spool_remove(p->spool.fd, name);
}

/* 0 with an empty batch if there is nothing. */
static int read_batch(struct push *p, struct batch *b, struct err *e)
{
	size_t n_max = p->n_alone ? 1 : PUSH_BATCH_MAX;
	while (p->at < p->spool.name.n && b->n < n_max) {
		const struct spool_name *name = &p->spool.name.v[p->at];
		struct push_item *item;
		struct err why = { 0 };
		int r = push_spool_read(&p->spool, name, &item, &why);
		if (r == -EINVAL)
			drop_unreadable(p, name, &why);
		if (r < 0 && r != -EINVAL && r != -ENOENT) {
			*e = why;
			return r;
		}
		if (r == 0 && b->n > 0 && b->n_bytes + item->n_bytes > BATCH_BYTES_MAX) {
			push_item_free(item);
			return 0;
		}
		p->at++;
		if (r < 0)
			continue;
		b->n_bytes += item->n_bytes;
		b->item[b->n++] = item;
	}
	return 0;
}

/* Builds the body; items that are no profiles are dropped from the batch. */
static int build_body(struct push *p, struct batch *b, struct wire *body, struct err *e)
{
	for (;;) {
		size_t bad = 0;
		struct err why = { 0 };
		int r = b->n == 0 ? 0 : push_body_build(p->opts.format, b->item, b->n,
							p->opts.label.v, p->opts.label.n, body,
							&bad, &why);
		if (r != -EINVAL) {
			*e = why;
			return r;
		}
		drop_unreadable(p, &b->item[bad]->name, &why);
		push_item_free(b->item[bad]);
		memmove(&b->item[bad], &b->item[bad + 1], (--b->n - bad) * sizeof(b->item[0]));
	}
}

/* ---- what becomes of it -------------------------------------------------------------- */

bool push_begin(void *ctx)
{
	struct push *p = ctx;
	struct err e = { 0 };
	p->state.batch = PUSH_SENDING;
	p->state.requests++;
	if (push_state_write(&p->state, &e) == 0)
		return true;
	push_say(p, "%s", e.what);
	return false;
}

static void write_state(struct push *p)
{
	struct err e = { 0 };
	if (push_state_write(&p->state, &e) < 0)
		push_say(p, "%s", e.what);
}

static void mark_reported(struct push *p)
{
	for (size_t i = 0; i < p->state.n_losses; i++)
		p->state.loss[i].reported = p->state.loss[i].total;
	p->state.reported_at_ns = clock_now_ns(CLOCK_REALTIME);
}

/* The fate of the batch is known. */
static void settle(struct push *p, const struct batch *b)
{
	if (b->is_report)
		mark_reported(p);
	p->state.batch = PUSH_ANSWERED;
	write_state(p);
	for (size_t i = 0; i < b->n && !b->is_report; i++)
		spool_remove(p->spool.fd, &b->item[i]->name);
	if (p->n_alone)
		p->n_alone--;
	uint32_t n_failures = push_pace_settled(&p->pace);
	if (n_failures)
		push_say(p, "the server answers again, after %" PRIu32 " failed request%s",
			 n_failures, units_s(n_failures));
}

static void taken(struct push *p, const struct batch *b, const struct push_answer *a)
{
	uint64_t n_rejected = push_answer_rejected(a, p->opts.format);
	if (!b->is_report) {
		/* In OTLP's count each sample type is a profile; no more than all are lost. */
		if (n_rejected > b->n)
			n_rejected = b->n;
		p->state.delivered += b->n - n_rejected;
		p->state.delivered_bytes += b->n_bytes;
		push_state_lose(&p->state, PUSH_LOST_REFUSED, n_rejected);
	}
	if (n_rejected)
		say_dropped(p, (size_t)n_rejected, "the server took only a part of a request");
	settle(p, b);
}

static void dropped(struct push *p, const struct batch *b, enum push_loss_kind kind,
		    const struct push_answer *a)
{
	if (!b->is_report)
		push_state_lose(&p->state, kind, b->n);
	char why[700];
	snprintf(why, sizeof(why), "%s (%ld%s%s)", kind == PUSH_LOST_UNSURE
		 ? "sent, and the server did not say whether it has them"
		 : kind == PUSH_LOST_TOO_LARGE ? "too large for the server"
		 : "the server refuses them",
		 a->grpc_status > 0 ? (long)a->grpc_status : a->http_status,
		 *a->text ? ": " : "", a->text);
	say_dropped(p, b->n, why);
	settle(p, b);
}

static void say_failed(struct push *p, enum push_verdict v, const struct push_answer *a)
{
	static const char *const word[] = {
		[PUSH_BUSY] = "the server is busy", [PUSH_UNREACHED] = "cannot reach the server",
		[PUSH_BROKEN] = "the server fails", [PUSH_DENIED] = "the server denies access",
		[PUSH_WRONG_SERVER] = "nothing takes profiles there",
		[PUSH_UNSURE] = "the server did not answer",
	};
	uint64_t now = clock_monotonic_ns();
	char status[24] = "";
	if (!push_pace_tells(&p->pace, v, now))
		return;
	if (a->http_status >= 300)
		snprintf(status, sizeof(status), " (%ld)", a->http_status);
	push_say(p, "%s%s%s%s; trying again in %.0f s", word[v], status, *a->text ? ": " : "",
		 a->text, (double)(p->pace.next_ns - now) / 1e9);
}

static enum push_step later(struct push *p, enum push_verdict v, const struct push_answer *a)
{
	bool has_begun = p->state.batch == PUSH_SENDING;
	p->state.batch = PUSH_IDLE;
	p->state.n_files = 0;
	if (has_begun)
		write_state(p);
	push_pace_failed(&p->pace, a, v, clock_monotonic_ns(), random_number());
	say_failed(p, v, a);
	p->at = p->spool.name.n;   /* read the spool anew */
	return PUSH_STEP_LATER;
}

/* Several were refused together: perhaps it is one of them. */
static enum push_step split(struct push *p, const struct batch *b)
{
	p->n_alone = b->n;
	p->state.batch = PUSH_IDLE;
	p->state.n_files = 0;
	write_state(p);
	p->at = p->spool.name.n;
	return PUSH_STEP_DONE;
}

static enum push_step answered(struct push *p, const struct batch *b, const struct push_answer *a)
{
	enum push_verdict v = push_answer_verdict(a, p->opts.format);
	switch (v) {
	case PUSH_TAKEN:
		taken(p, b, a);
		return PUSH_STEP_DONE;
	case PUSH_REFUSED: case PUSH_TOO_LARGE:
		if (b->n > 1)
			return split(p, b);
		dropped(p, b, v == PUSH_REFUSED ? PUSH_LOST_REFUSED : PUSH_LOST_TOO_LARGE, a);
		return PUSH_STEP_DONE;
	case PUSH_UNSURE:
		if (p->opts.repeats_unsure)
			return later(p, v, a);
		dropped(p, b, PUSH_LOST_UNSURE, a);
		push_pace_failed(&p->pace, a, v, clock_monotonic_ns(), random_number());
		return PUSH_STEP_LATER;
	case PUSH_BROKEN:
		if (!push_pace_gives_up(&p->pace))
			return later(p, v, a);
		if (b->n > 1)
			return split(p, b);
		dropped(p, b, PUSH_LOST_REFUSED, a);
		return PUSH_STEP_DONE;
	default:
		return later(p, v, a);
	}
}

/* ---- steps --------------------------------------------------------------------------- */

static enum push_step send_batch(struct push *p, struct batch *b)
{
	struct wire body = { 0 };
	struct push_answer a = { .grpc_status = -1, .text = "" };
	struct err e = { 0 };
	CLEANUP_FREE char *authorization = NULL;
	int r = push_token_read(&p->opts, &authorization, &e);
	if (r == 0)
		r = build_body(p, b, &body, &e);
	if (r == 0 && b->n == 0) {
		wire_done(&body);
		write_state(p);    /* the losses */
		return PUSH_STEP_DONE;
	}
	if (r == 0) {
		p->state.has_report = b->is_report;
		p->state.n_files = b->is_report ? 0 : b->n;
		for (size_t i = 0; i < p->state.n_files; i++)
			p->state.file[i] = b->item[i]->name;
		r = push_http_send(p->http, body.p, body.n, authorization, p->opts.tenant, &a, &e);
	}
	wire_done(&body);
	if (r == 0)
		return answered(p, b, &a);
	a.text = e.what;
	return later(p, PUSH_UNREACHED, &a);
}

static void read_counters(struct push *p)
{
	static const char *const suffix[] = { "_lost", "_failed" };
	struct keyvalues k;
	struct err e = { 0 };
	int r = push_spool_counters(&p->spool, &k, &e);
	if (r == -EINVAL)
		say_dropped(p, 0, e.what);
	if (r < 0)
		return;
	for (size_t i = 0; i < k.pair.n; i++) {
		const char *key = k.pair.v[i].key;
		size_t n = strlen(key);
		for (size_t j = 0; j < 2; j++) {
			size_t m = strlen(suffix[j]);
			if (n > m && strcmp(key + n - m, suffix[j]) == 0 &&
			    strncmp(key, "bytes", 5) != 0)
				push_state_lost_by_recorder(&p->state, key,
							    keyvalues_get_u64(&k, key));
		}
	}
	keyvalues_done(&k);
}

static enum push_step send_report(struct push *p, uint64_t now)
{
	struct batch b = { .is_report = true };
	if (now < p->report_next_ns)
		return PUSH_STEP_EMPTY;
	read_counters(p);
	p->report_next_ns = now + PUSH_REPORT_EVERY_NS;
	if (push_state_unreported(&p->state) == 0)
		return PUSH_STEP_EMPTY;
	b.item[0] = push_report_make(&p->state, p->start_ns, clock_now_ns(CLOCK_REALTIME));
	if (!b.item[0])
		return PUSH_STEP_EMPTY;
	b.n = 1;
	enum push_step step = send_batch(p, &b);
	if (step == PUSH_STEP_LATER)
		p->report_next_ns = now;
	batch_done(&b);
	return step;
}

enum push_step push_next(struct push *p)
{
	struct batch b = { .n = 0 };
	struct push_answer none = { .grpc_status = -1 };
	struct err e = { 0 };
	uint64_t now = clock_monotonic_ns();
	int r = 0;
	if (now < p->pace.next_ns)
		return PUSH_STEP_LATER;
	if (p->at >= p->spool.name.n) {
		r = push_spool_scan(&p->spool, &e);
		p->at = 0;
	}
	if (r == 0)
		r = read_batch(p, &b, &e);
	none.text = e.what;
	enum push_step step = r < 0 ? later(p, PUSH_UNREACHED, &none)
		: b.n > 0 ? send_batch(p, &b) : send_report(p, now);
	batch_done(&b);
	return step;
}

int push_recover(struct push *p, struct err *e)
{
	struct push_state *s = &p->state;
	if (s->batch == PUSH_SENDING && s->has_report)
		mark_reported(p);
	bool is_unsure = s->batch == PUSH_SENDING && !s->has_report;
	if (is_unsure && !p->opts.repeats_unsure) {
		push_state_lose(s, PUSH_LOST_UNSURE, s->n_files);
		push_say(p, "dropped %zu profile%s that %s being sent when the last pusher ended",
			 s->n_files, units_s(s->n_files), units_word(s->n_files, "was", "were"));
		s->batch = PUSH_ANSWERED;
		int r = push_state_write(s, e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < s->n_files && s->batch == PUSH_ANSWERED; i++)
		spool_remove(p->spool.fd, &s->file[i]);
	s->batch = PUSH_IDLE;
	s->has_report = false;
	s->n_files = 0;
	return push_state_write(s, e);
}
