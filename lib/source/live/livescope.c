/*
 * Replaces events of threads by events of CPUs, which write into the same rings, or the reverse.
 *
 * 1. The new events are opened and enabled, while the old ones continue.  If the new ones are of
 *    threads, all children have events before the next step (livebirth.c).
 * 2. A time is chosen that is one to two periods ahead.  Samples of the old events count up to it,
 *    those of the new ones from then on: each moment is covered once, by the time of the samples.
 * 3. After that time the old events are closed.
 *
 * Whatever has passed of an old event's period when it ends is not sampled, half a period on
 * average.  A new event that counted from the moment when it is enabled would lose the same again
 * at its own end.  Enabled one to two periods earlier, at random, it gives its first sample half a
 * period after its time begins, on average, and makes up for the old one.
 *
 * Both sets carry the side band meanwhile; duplicates do no harm.
 */

#include "source/live/livescope.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "event/evspec.h"
#include "source/live/livescan.h"
#include "source/live/livestack.h"
#include "source/source-ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* While threads are opened, the rings are not read. */
#define OPEN_NS_MAX 60000000u

#define PERIOD_NS_UNKNOWN 1000000u
#define PERIOD_NS_MAX 100000000u

/*
 * The creation of a thread or process may have begun before the new events were opened.  It is over
 * after this time, even if the creator has to wait for its CPU meanwhile, and its record has been
 * read.  Until then both sets of events cost time.
 */
#define SETTLE_NS 100000000u
/* If new children keep appearing, the old events end after this time. */
#define SETTLE_NS_MAX 1000000000u
#define READ_MS 1

/* An interrupt may be late. */
#define LATE_NS 2000000u

struct change {
	struct live *l;
	struct live_options options;   /* the new ones */
	bool *found;                   /* per event: it is open somewhere */
	uint64_t deadline_ns;
};

static bool is_possible(const struct live *l)
{
	const struct live_options *o = &l->options;
	bool possible = o->scope != LIVE_CGROUP && !o->filter && l->filter.filter_fd < 0;
	for (uint32_t i = 0; i < o->n_events; i++)
		/* Members cannot outlive their leader; a pinned event is not scheduled twice. */
		possible &= !o->event[i].group && !l->event[i].attr.pinned;
	return possible;
}

/* ---- attrs ------------------------------------------------------------------------ */

static struct perf_event_attr *save_attrs(const struct live *l)
{
	struct perf_event_attr *saved = calloc(l->options.n_events, sizeof(*saved));
	for (size_t i = 0; saved && i < l->options.n_events; i++)
		saved[i] = l->event[i].attr;
	return saved;
}

/* The layout of samples stays. */
static void change_attrs(struct live *l, const struct live_options *to)
{
	for (uint32_t i = 0; i < to->n_events; i++) {
		const struct evspec *s = &to->event[i];
		struct perf_event_attr *a = &l->event[i].attr;
		a->inherit = to->attr.inherit;
		a->exclude_idle = s->no_idle || (to->attr.cpu_wide && s->is_clock);
		a->enable_on_exec = 0;
		a->disabled = 1;
	}
}

/* ---- opening ---------------------------------------------------------------------- */

static int open_thread(void *ctx, const struct livescan_thread *t, struct err *e)
{
	struct change *c = ctx;
	struct live *l = c->l;
	size_t n_old = l->fds.n;
	if (clock_monotonic_ns() > c->deadline_ns)
		return err_set(e, E2BIG, "there are too many threads and CPUs");
	if (t->is_late && !VEC_PUSH(&l->late, ((struct live_late){ .tid = (uint32_t)t->tid })))
		return err_errno(e, ENOMEM, "cannot open events");
	int r = live_open_place(l, &c->options, t->tid, (uint32_t)t->tid, 0, c->found, e);
	if (t->is_unproven)
		live_mark_unproven(l, n_old);
	return r;
}

/* l->late is empty. */
static int open_threads(struct change *c, struct err *e)
{
	struct livescan scan = {
		.options = &c->options, .open = open_thread, .ctx = c,
		.since_ns = c->l->opened_ns,
	};
	size_t n_old = c->l->fds.n;
	int r = livescan_run(&scan, e);
	livescan_done(&scan);
	if (r == 0 && c->l->fds.n == n_old)
		r = err_set(e, ESRCH, "no thread of the target was found");
	return r;
}

static int open_new(struct change *c, struct err *e)
{
	struct live *l = c->l;
	for (uint32_t i = 0; i < l->options.n_events; i++)
		c->found[i] = source_n_places(&l->source, i) != 0;
	if (c->options.scope == LIVE_CPU)
		return live_open_place(l, &c->options, -1, 0, 0, c->found, e);
	c->deadline_ns = clock_monotonic_ns() + OPEN_NS_MAX;
	return open_threads(c, e);
}

/* ---- the change ------------------------------------------------------------------- */

static uint64_t period_ns(const struct live *l)
{
	uint64_t most = 0;
	for (size_t i = 0; i < l->options.n_events; i++) {
		const struct perf_event_attr *a = &l->event[i].attr;
		uint64_t ns = PERIOD_NS_UNKNOWN;
		if (a->freq && a->sample_freq)
			ns = CLOCK_SECOND_NS / a->sample_freq;
		else if (l->options.event[i].is_clock)
			ns = a->sample_period;
		most = ns > most ? ns : most;
	}
	return most < PERIOD_NS_MAX ? most : PERIOD_NS_MAX;
}

static double next_random(struct livescope *s)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(s->random >> 11) / (double)(UINT64_C(1) << 53);
}

static void enable_new(struct live *l, size_t n_old)
{
	for (size_t i = n_old; i < l->fds.n; i++) {
		const struct live_fd *f = &l->fds.v[i];
		if (f->event != RECORD_NO_EVENT && !l->event[f->event].paused)
			ioctl(f->fd, PERF_EVENT_IOC_ENABLE, 0);
	}
}

static void set_cut(struct live *l, uint64_t cut_ns)
{
	l->scope.cut_ns = cut_ns;
	for (size_t i = 0; i < l->fds.n; i++) {
		struct live_id *id = live_find_id(l, l->fds.v[i].id);
		if (id && l->fds.v[i].ends)
			id->until_ns = cut_ns;
		else if (id)
			id->since_ns = cut_ns;
	}
}

static void choose_cut(struct live *l)
{
	double periods = 1 + next_random(&l->scope);
	set_cut(l, clock_monotonic_ns() + (uint64_t)(periods * (double)period_ns(l)));
}

static void begin_change(struct live *l, size_t n_old)
{
	l->scope.is_changing = true;
	l->scope.is_read = false;
	for (size_t i = 0; i < n_old; i++)
		l->fds.v[i].ends = true;
	if (l->options.scope == LIVE_TASK) {
		l->scope.settle_ns = clock_monotonic_ns() + SETTLE_NS;
		set_cut(l, UINT64_MAX);
	} else {
		choose_cut(l);
	}
}

static void use_new(struct change *c, size_t n_old)
{
	struct live *l = c->l;
	l->has_repeats = true;
	enable_new(l, n_old);
	l->options = c->options;
	begin_change(l, n_old);
	livebirth_renew(l);
	l->source.facts.pause_is_slow = c->options.scope == LIVE_CPU;
	livevary_renew(l);
	l->usage.n_fds = (uint32_t)(l->fds.n + l->n_rings);
}

static int check(const struct live *l, enum live_scope scope, struct err *e)
{
	if (l->scope.is_changing)
		return err_set(e, EAGAIN, "the previous change is not over");
	if (livegrow_is_busy(l, SOURCE_ALL_RINGS))
		return err_set(e, EAGAIN, "a ring is being replaced");
	if (!is_possible(l) || (scope == LIVE_TASK && !l->options.processes))
		return err_set(e, EOPNOTSUPP, "the scope is fixed");
	return 0;
}

static struct live_options options_for(const struct live *l, enum live_scope scope)
{
	struct live_options o = l->options;
	o.scope = scope;
	o.attr.cpu_wide = scope == LIVE_CPU;
	o.attr.inherit = scope == LIVE_TASK;
	o.attr.enable_on_exec = false;
	return o;
}

/* Opens the new events, with late threads of their own; on failure nothing changes. */
static int replace(struct change *c, const struct perf_event_attr *old_attr, struct err *e)
{
	struct live *l = c->l;
	struct live_lates late = l->late;
	size_t n_old = l->fds.n;
	l->late = (struct live_lates){ 0 };
	change_attrs(l, &c->options);
	int r = open_new(c, e);
	/* Events of CPUs have no late threads: those of the old events hold until these end. */
	if (r < 0 || c->options.scope == LIVE_CPU) {
		VEC_FREE(&l->late);
		l->late = late;
	} else {
		VEC_FREE(&late);
		live_sort_late(l->late.v, l->late.n);
		for (size_t i = 0; i < l->n_rings; i++)
			l->ring[i].has_late = false;
	}
	if (r == 0) {
		use_new(c, n_old);
		return 0;
	}
	livestack_drop_new(l, n_old);
	for (size_t i = 0; i < l->options.n_events; i++)
		l->event[i].attr = old_attr[i];
	return r;
}

int livescope_set(struct source *s, enum live_scope scope, struct err *e)
{
	struct live *l = (struct live *)s;
	int r = check(l, scope, e);
	if (r < 0 || scope == l->options.scope)
		return r;
	CLEANUP_FREE bool *found = calloc(l->options.n_events, sizeof(*found));
	CLEANUP_FREE struct perf_event_attr *old_attr = save_attrs(l);
	if (!found || !old_attr)
		return err_errno(e, ENOMEM, "cannot open events");
	struct change c = { .l = l, .options = options_for(l, scope), .found = found };
	livestack_forget(l, SOURCE_ALL_RINGS);
	return replace(&c, old_attr, e);
}

static void close_old(struct live *l)
{
	size_t n_kept = 0;
	for (size_t i = 0; i < l->fds.n; i++) {
		struct live_fd f = l->fds.v[i];
		if (f.ends)
			livestack_close(l, &f);
		else
			l->fds.v[n_kept++] = f;
	}
	l->fds.n = n_kept;
	l->scope.is_changing = false;
	l->usage.n_fds = (uint32_t)(l->fds.n + l->n_rings);
	livevary_renew(l);
}

/* Does every child have events?  Otherwise returns in how many ms to look again. */
static int settle(struct live *l, uint64_t now_ns)
{
	if (now_ns < l->scope.settle_ns)
		return (int)((l->scope.settle_ns - now_ns) / 1000000) + 1;
	if (l->scope.is_read && (!livebirth_is_waiting(l) ||
				 now_ns >= l->scope.settle_ns + SETTLE_NS_MAX))
		return 0;
	/* The rings are read between two steps. */
	l->scope.is_read = true;
	return READ_MS;
}

int livescope_step(struct live *l, uint64_t now_ns)
{
	if (!l->scope.is_changing)
		return -1;
	if (l->scope.cut_ns == UINT64_MAX) {
		int ms = settle(l, now_ns);
		if (ms > 0)
			return ms;
		choose_cut(l);
	}
	if (now_ns < l->scope.cut_ns + LATE_NS)
		return (int)((l->scope.cut_ns + LATE_NS - now_ns) / 1000000) + 1;
	close_old(l);
	return -1;
}

bool livescope_is_changing(const struct source *s)
{
	return ((const struct live *)s)->scope.is_changing;
}
