/*
 * Rings, descriptors and draining; liveopen.c decides which events are opened where.
 *
 * Each ring belongs to a dummy event on our own thread, and all other events of that CPU are
 * redirected into it (PERF_EVENT_IOC_SET_OUTPUT).  A ring that belonged to one of the target's
 * events would report POLLHUP for ever once that thread has ended, even while others write to it.
 */

#include "source/live/livereaders.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "source/live/ringsize.h"
#include "source/source-ring.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Counters that one group can have; a PMU has far fewer. */
#define GROUP_MAX 64

/* The period of samples of an inherited event that do not carry one; 0: as opened.  The kernel
 * numbers events in the order of their creation, inherited ones too. */
static uint64_t inherited_period(const struct live *l, uint32_t event, uint64_t stream_id)
{
	uint64_t period = 0;
	for (size_t i = 0; i < l->rates.n; i++)
		if (l->rates.v[i].event == event && stream_id > l->rates.v[i].after_id)
			period = l->rates.v[i].period;
	return period;
}

/* After the period of a clock was changed, the kernel still reports the old one, except for events
 * inherited after the change. */
static void note_sample(const struct live *l, struct live_reader *v, struct live_id *id,
			struct record *r)
{
	if (id && l->n_readers <= 1)
		id->n_changed++;
	if (id && !r->sample.period && r->stream_id != id->id)
		r->sample.period = inherited_period(l, id->event, r->stream_id);
	if (id && id->period && r->stream_id == id->id) {
		uint64_t period = r->time_ns >= id->changed_ns ? id->period : id->period_before;
		if (period)
			r->sample.period = period;
	}
	v->n_samples++;
	v->n_chain_entries += r->sample.n_callchain;
	v->n_stack_bytes += r->sample.n_user_stack_bytes;
}

/* ---- the source -------------------------------------------------------------- */

/* See struct round_shared. */
static bool is_shared_event(const struct live *l, uint32_t event)
{
	const struct perf_event_attr *a = &l->event[event].attr;
	return a->type == PERF_TYPE_SOFTWARE && a->config != PERF_COUNT_SW_CPU_CLOCK &&
	       a->config != PERF_COUNT_SW_TASK_CLOCK;
}

/*
 * If several recorders have opened the same software event on a CPU, Linux prepares one set of
 * sample data for all of them (do_perf_sw_event() in kernel/events/core.c, seen with 6.18) and does
 * not overwrite fields that are already set: so all samples have the id of the first recorder's
 * event.  A ring contains only samples of its own events.  If only one of these can be meant, use
 * it.  With several software events the sample cannot be assigned; no other case is known.
 */
static uint32_t event_of(const struct live *l, uint64_t number)
{
	const struct live_id *id = live_find_id(l, number);
	uint32_t only = RECORD_NO_EVENT;
	if (id)
		return id->event;
	for (uint32_t i = 0; i < l->options.n_events; i++) {
		if (!is_shared_event(l, i))
			continue;
		if (only != RECORD_NO_EVENT)
			return RECORD_NO_EVENT;
		only = i;
	}
	return only;
}

/* The event that a sample belongs to; its id comes first. */
static uint32_t raw_event(const struct live *l, const void *raw, size_t n_bytes)
{
	const struct perf_event_header *h = raw;
	uint64_t number;
	if (h->type != PERF_RECORD_SAMPLE || n_bytes < sizeof(*h) + sizeof(number))
		return RECORD_NO_EVENT;
	memcpy(&number, h + 1, sizeof(number));
	return event_of(l, number);
}

static bool is_shared(const void *ctx, const void *raw, size_t n_bytes)
{
	const struct live *l = ctx;
	uint32_t event = raw_event(l, raw, n_bytes);
	return event != RECORD_NO_EVENT && is_shared_event(l, event);
}

void live_watch_clocks(struct live *l)
{
	bool any = false;
	for (uint32_t i = 0; i < l->options.n_events; i++)
		any |= is_shared_event(l, i);
	if (any)
		l->round.shared = (struct round_shared){ .is_shared = is_shared, .ctx = l };
}

/* Samples are laid out as their events requested; PERF_SAMPLE_IDENTIFIER comes first in each. */
static const struct record_format *format_of(const struct live *l, const void *raw,
					     size_t n_bytes)
{
	uint32_t event = raw_event(l, raw, n_bytes);
	return &l->format[event != RECORD_NO_EVENT ? event : 0];
}

/* What all readers see is counted by the first. */
static bool counts_damage(const struct live *l, const struct live_reader *v, const void *raw,
			  size_t n_bytes)
{
	uint32_t tid;
	return v->index == 0 || (!l->all_samples &&
				 record_peek_tid(&l->format[0], raw, n_bytes, &tid) &&
				 tid != UINT32_MAX);
}

/*
 * While events are replaced, both sets are enabled for a moment (livescope.c, livetask.c), and a
 * thread found late may have two sets for good (live_is_double).  All samples of one occurrence of
 * a shared event may have the id of any of them: the first one counts.
 */
static bool is_repeated(const struct live *l, struct live_reader *v, size_t ring,
			const struct record *r)
{
	if (!l->has_repeats || !VEC_EXTEND(&v->shared, ring + 1))
		return false;
	struct live_shared *last = &v->shared.v[ring];
	bool is_same = last->time_ns == r->time_ns && last->tid == r->tid &&
		       last->event == r->event;
	*last = (struct live_shared){ r->time_ns, r->tid, r->event };
	return is_same;
}

/*
 * Does another event of the same thread or CPU deliver the sample, too?  Notes what it stands for,
 * because the counters of both contain it; but those of a double event do not count at all.
 */
static bool is_surplus(struct live *l, struct live_reader *v, size_t ring,
		       struct live_id *id, const struct record *r)
{
	bool is_cut;
	if (is_shared_event(l, r->event)) {
		is_cut = is_repeated(l, v, ring, r);
	} else if (!id) {
		return false;
	} else {
		/* A wake-up is a sample of the waking thread by the woken one's event. */
		if (!r->sample.raw && live_is_double(l, &l->ring[ring], id, r->tid))
			return true;
		is_cut = !live_is_in_time(id, r);
		if (!is_cut && !r->sample.raw &&
		    live_awaits_proof(l, &l->ring[ring], id, r->tid))
			return true;
	}
	if (is_cut)
		live_note_cut(l, r);
	return is_cut;
}

/* The record of a thread that creates another one, or ends, shows by which events it is sampled. */
static void note_task(struct live *l, const struct live_reader *v, size_t ring,
		      struct live_id *id, const struct record *r)
{
	bool is_fork = r->type == PERF_RECORD_FORK;
	if (!id || v->index)
		return;
	live_is_double(l, &l->ring[ring], id, is_fork ? r->fork.ptid : r->tid);
	if (is_fork)
		livebirth_note(l, id, r);
}

int live_next_of(struct live *l, struct live_reader *v, struct record *ret_record)
{
	if (v->group.record.sample.n_group && livegroup_next(l, &v->group, ret_record))
		return SOURCE_RECORD;
	for (;;) {
		size_t n_bytes, ring;
		const void *raw = merge_next(&v->merge, &n_bytes, &ring);
		if (!raw)
			return SOURCE_IDLE;
		ring = livegrow_ring_of(&l->grow, l->n_rings, ring);
		switch (record_decode(format_of(l, raw, n_bytes), raw, n_bytes, ret_record)) {
		case RECORD_UNKNOWN:
			v->losses.n_unknown += v->index == 0;
			continue;
		case RECORD_BAD:
			v->losses.n_undecodable += counts_damage(l, v, raw, n_bytes);
			continue;
		case RECORD_OK:
			break;
		}
		if (ret_record->type == PERF_RECORD_LOST && v->index == 0)
			l->ring[ring].n_lost += ret_record->lost.n_lost;
		struct live_id *id = live_find_id(l, ret_record->id);
		ret_record->event = id ? id->event : RECORD_NO_EVENT;
		if (ret_record->type == PERF_RECORD_FORK || ret_record->type == PERF_RECORD_EXIT)
			note_task(l, v, ring, id, ret_record);
		if (ret_record->type == PERF_RECORD_SWITCH && id &&
		    live_is_double(l, &l->ring[ring], id, ret_record->tid))
			continue;
		if (ret_record->type == PERF_RECORD_SAMPLE) {
			ret_record->event = event_of(l, ret_record->id);
			if (ret_record->event == RECORD_NO_EVENT) {
				v->losses.n_unassigned += counts_damage(l, v, raw, n_bytes);
				continue;
			}
			if (is_surplus(l, v, ring, id, ret_record))
				continue;
			ret_record->of_target = id && id->tid && !id->is_unproven &&
						!ret_record->sample.raw;
			if (l->round.shared.is_shared)
				ret_record->time_ns = v->merge.time_ns;
			note_sample(l, v, id, ret_record);
		}
		if (ret_record->type == PERF_RECORD_SAMPLE && ret_record->sample.n_group) {
			livegroup_begin(&v->group, ret_record);
			if (!livegroup_next(l, &v->group, ret_record))
				continue;
		}
		return SOURCE_RECORD;
	}
}

static int live_next(struct source *s, struct record *ret_record, struct err *e)
{
	struct live *l = (struct live *)s;
	int r = live_next_of(l, &l->first, ret_record);
	s->losses = l->first.losses;
	s->losses.n_out_of_order = l->round.n_out_of_order;
	return r;
}

static void live_limit(struct source *s, uint64_t until_ns)
{
	((struct live *)s)->round.until_ns = until_ns;
}

static void live_close(struct source *s)
{
	struct live *l = (struct live *)s;
	livereaders_done(l);
	merge_done(&l->first.merge);
	round_done(&l->round);
	livefilter_close(&l->filter);
	live_copy_done(l);
	livegrow_done(l);
	for (size_t i = 0; i < l->fds.n; i++)
		close(l->fds.v[i].fd);
	for (size_t i = 0; i < l->n_rings; i++) {
		ring_close(&l->ring[i].ring);
		if (l->ring[i].fd >= 0)
			close(l->ring[i].fd);
		VEC_FREE(&l->ring[i].closed);
		VEC_FREE(&l->ring[i].late);
	}
	VEC_FREE(&l->fds);
	VEC_FREE(&l->late);
	livebirth_done(l);
	VEC_FREE(&l->rates);
	free(l->ring);
	free(l->event);
	free(l->format);
	livegroup_done(&l->first.group);
	VEC_FREE(&l->first.shared);
	VEC_FREE(&l->ids);
	VEC_FREE(&l->free_ids);
	hashindex_done(&l->id_index);
	VEC_FREE(&l->poll);
	if (l->has_rings_fd)
		close(l->rings_fd);
	free(l);
}

static struct live *live_of(const struct source *s)
{
	assert(s->ops == &live_ops);
	return (struct live *)s;
}

/* ---- control ------------------------------------------------------------------- */

static int live_enable(struct source *s, struct err *e)
{
	struct live *l = live_of(s);
	l->round.shared.since_ns = clock_monotonic_ns();  /* there are no samples yet */
	if (l->options.attr.enable_on_exec)
		return 0;
	for (size_t i = 0; i < l->fds.n; i++) {
		const struct live_fd *f = &l->fds.v[i];
		if (f->event != RECORD_NO_EVENT && l->event[f->event].paused)
			continue;
		if (ioctl(f->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return err_errno(e, errno, "cannot enable an event");
	}
	livebirth_begin(l);
	return 0;
}

static int set_paused(struct live *l, size_t event, bool paused, struct err *e)
{
	unsigned long request = paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;
	assert(l->options.pausable);
	for (size_t i = 0; i < l->options.n_events; i++)
		if (event == SOURCE_ALL_EVENTS || event == i)
			l->event[i].paused = paused;
	livevary_renew(l);
	for (size_t i = 0; i < l->fds.n; i++) {
		const struct live_fd *f = &l->fds.v[i];
		bool wanted = event == SOURCE_ALL_EVENTS ? f->event != RECORD_NO_EVENT
							: f->event == event;
		if (wanted && ioctl(f->fd, request, 0) < 0)
			return err_errno(e, errno, "cannot %s an event",
					 paused ? "pause" : "resume");
	}
	return 0;
}

static int live_pause(struct source *s, size_t event, struct err *e)
{
	return set_paused(live_of(s), event, true, e);
}

static int live_resume(struct source *s, size_t event, struct err *e)
{
	return set_paused(live_of(s), event, false, e);
}

static void live_disable(struct source *s)
{
	struct live *l = live_of(s);
	for (size_t i = 0; i < l->fds.n; i++)
		ioctl(l->fds.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void live_note_period(struct live_id *id, uint64_t period)
{
	id->period_before = id->period;
	id->period = period;
	id->changed_ns = clock_monotonic_ns();
	id->n_changed = 0;
}

/* The number that an event created now gets. */
static uint64_t newest_id(const struct live *l)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
	};
	uint64_t id = UINT64_MAX;
	int fd = l->options.open.fn(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return id;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0)
		id = UINT64_MAX;
	close(fd);
	return id;
}

static int live_set_rate(struct source *s, size_t event, uint64_t rate, struct err *e)
{
	struct live *l = live_of(s);
	struct perf_event_attr *a = &l->event[event].attr;
	bool clock = a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_CPU_CLOCK ||
							a->config == PERF_COUNT_SW_TASK_CLOCK);
	/* The kernel has permanently turned a clock's frequency into a period. */
	uint64_t value = clock && a->freq ? 1000000000u / rate : rate;
	for (size_t i = 0; i < l->fds.n; i++) {
		uint64_t id = 0, arg = value;
		struct live_id *slot;
		if (l->fds.v[i].event != event)
			continue;
		if (ioctl(l->fds.v[i].fd, PERF_EVENT_IOC_PERIOD, &arg) < 0)
			return err_errno(e, errno, "cannot change the rate of an event");
		if (a->freq && !clock)
			continue;  /* samples carry the right period */
		if (ioctl(l->fds.v[i].fd, PERF_EVENT_IOC_ID, &id) == 0 &&
		    (slot = live_find_id(l, id))) {
			if (!slot->period && !clock)
				slot->period = a->sample_period;
			live_note_period(slot, value);
		}
	}
	/* If memory is short, inherited samples are weighed as before. */
	if (a->inherit && !a->freq)
		VEC_PUSH(&l->rates, ((struct live_rate){ (uint32_t)event, newest_id(l), value }));
	if (a->freq)
		a->sample_freq = rate;
	else
		a->sample_period = rate;
	livevary_renew(l);
	return 0;
}

/* More rings than this are waited for by one descriptor of epoll(7), so that waiting costs what
 * happens, not what could. */
#define POLL_RINGS_MAX 16

static int watch(int epoll_fd, const struct live_ring *r)
{
	struct epoll_event ev = { .events = EPOLLIN };
	return r->fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, r->fd, &ev) < 0 ? -errno : 0;
}

static int open_rings_fd(struct live *l)
{
	CLEANUP_CLOSE int fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < l->n_rings + l->grow.n_places; i++) {
		int r = watch(fd, &l->ring[i]);
		if (r < 0)
			return r;
	}
	l->rings_fd = TAKE_FD(fd);
	l->has_rings_fd = true;
	return 0;
}

int live_watch_ring(struct live *l, size_t place)
{
	return l->has_rings_fd ? watch(l->rings_fd, &l->ring[l->n_rings + place]) : 0;
}

static int live_wait(struct source *s, int timeout_ms, const int *fds, size_t n_fds,
		     bool *ret_ready)
{
	struct live *l = live_of(s);
	size_t n_rings = l->n_rings + l->grow.n_places;
	size_t n_own = n_rings > POLL_RINGS_MAX ? 1 : n_rings;
	if (!VEC_EXTEND(&l->poll, n_own + n_fds))
		return -ENOMEM;
	int r = n_own == n_rings || l->has_rings_fd ? 0 : open_rings_fd(l);
	if (r < 0)
		return r;
	timeout_ms = clock_sooner_ms(timeout_ms, livegrow_step(l, clock_monotonic_ns()));
	int vary_ms = livevary_step(l, clock_monotonic_ns());
	timeout_ms = clock_sooner_ms(timeout_ms, vary_ms);
	timeout_ms = clock_sooner_ms(timeout_ms, livebirth_step(l, clock_monotonic_ns()));
	timeout_ms = clock_sooner_ms(timeout_ms, livescope_step(l, clock_monotonic_ns()));
	for (size_t i = 0; i < n_own; i++)
		l->poll.v[i] = (struct pollfd){
			.fd = l->has_rings_fd ? l->rings_fd : l->ring[i].fd, .events = POLLIN,
		};
	for (size_t i = 0; i < n_fds; i++)
		l->poll.v[n_own + i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	if (poll(l->poll.v, n_own + n_fds, timeout_ms) < 0)
		return -errno;
	for (size_t i = 0; i < n_fds && ret_ready; i++)
		ret_ready[i] = l->poll.v[n_own + i].revents != 0;
	return 0;
}

static int live_poll_fd(const struct source *s, size_t i)
{
	const struct live *l = live_of(s);
	/* The caller waits for these descriptors from now on. */
	((struct live *)s)->grow.is_possible = false;
	return i < l->n_rings ? l->ring[i].fd : -1;
}

static const struct live_ring *ring_of(const struct live *l, int cpu)
{
	for (size_t i = 0; i < l->n_rings; i++)
		if (l->ring[i].cpu == cpu)
			return &l->ring[i];
	return NULL;
}

/* All samples of the event are dropped: its thread has inherited another one. */
static bool is_double(const struct live *l, const struct live_fd *f)
{
	const struct live_ring *ring = f->tid && !is_shared_event(l, f->event) ? ring_of(l, f->cpu)
									       : NULL;
	const struct live_late *late = ring ? live_find_late(l, ring, f->tid) : NULL;
	return late && __atomic_load_n(&late->inherits, __ATOMIC_RELAXED);
}

void live_add_count(const struct live *l, const struct live_fd *f, struct source_count *sum)
{
	/* value, time_enabled, time_running, id, lost: the fixed read_format of evattr.c.  For a
	 * group: the number, the times, then value, id, lost of each. */
	uint64_t v[3 + 3 * GROUP_MAX] = { 0 };
	uint64_t read_format = l->event[f->event].attr.read_format;
	bool is_group = read_format & PERF_FORMAT_GROUP, has_lost = read_format & PERF_FORMAT_LOST;
	if (is_double(l, f) || read(f->fd, v, sizeof(v)) < (ssize_t)(3 * sizeof(v[0])))
		return;
	size_t at = is_group ? 3 : 0, lost_at = is_group ? 5 : 4;
	/* A task's event on CPU n is enabled whenever the task runs, but can count only while it
	 * runs on that CPU: one CPU's share of the sum is real time. */
	sum->value += v[at];
	sum->time_enabled_ns += f->tid ? v[1] / l->n_rings : v[1];
	sum->time_running_ns += v[2];
	if (has_lost)
		sum->n_lost += v[lost_at];
}

static size_t live_n_places(const struct source *s, size_t event)
{
	const struct live *l = live_of(s);
	size_t n = 0;
	for (size_t i = 0; i < l->fds.n; i++)
		n += l->fds.v[i].event == event;
	return n;
}

static void live_count(struct source *s, size_t event, struct source_count *ret_count)
{
	struct live *l = live_of(s);
	struct source_count sum = l->event[event].closed;
	sum.has_lost = l->event[event].attr.read_format & PERF_FORMAT_LOST;
	for (size_t i = 0; i < l->fds.n; i++) {
		const struct live_fd *f = &l->fds.v[i];
		if (f->event == event)
			live_add_count(l, f, &sum);
	}
	uint64_t cut = __atomic_load_n(&l->event[event].cut_value, __ATOMIC_RELAXED);
	sum.value -= cut < sum.value ? cut : sum.value;
	*ret_count = sum;
}

static void live_usage(const struct source *s, struct source_usage *ret)
{
	const struct live *l = live_of(s);
	*ret = l->usage;
	ret->record_bytes += l->grow.past_bytes;
	for (size_t i = 0; i < l->n_rings + l->grow.n_places; i++)
		ret->record_bytes += l->ring[i].ring.tail;
}

static bool live_ring(struct source *s, size_t i, struct source_ring *ret)
{
	struct live *l = live_of(s);
	if (i >= l->n_rings)
		return false;
	struct live_ring *r = &l->ring[i];
	*ret = (struct source_ring){
		.cpu = r->cpu, .size_bytes = r->ring.n_data_bytes,
		.share_bytes = l->options.rings_bytes / l->n_rings,
		.wakeup_bytes = ringsize_wakeup(r->ring.n_data_bytes,
						l->options.attr.rate_default_hz),
		.taken_bytes = r->past_bytes + r->ring.tail,
		.peak_bytes = r->ring.peak, .n_lost = r->n_lost,
	};
	r->ring.peak = 0;
	return true;
}

static const struct perf_event_attr *live_attr(const struct source *s, size_t i)
{
	return &live_of(s)->event[i].attr;
}

const struct source_ops live_ops = {
	.next = live_next, .close = live_close, .limit = live_limit,
	.enable = live_enable, .disable = live_disable,
	.pause = live_pause, .resume = live_resume,
	.wait = live_wait, .poll_fd = live_poll_fd,
	.count = live_count, .n_places = live_n_places, .attr = live_attr, .usage = live_usage,
	.set_rate = live_set_rate, .ring = live_ring, .set_stack = live_set_stack,
	.grow_ring = livegrow_ring,
	.set_user_chain = live_set_user_chain, .sample_cost = live_sample_cost,
	.share = &livereaders_ops,
};

uint32_t live_n_threads(const struct source *s)
{
	return live_of(s)->n_threads;
}

unsigned live_given_up(const struct source *s, size_t i)
{
	return live_of(s)->event[i].given_up;
}

const char *live_why_unfiltered(const struct source *s)
{
	return live_of(s)->why_unfiltered;
}

enum live_filtered live_filtered(const struct source *s, size_t i)
{
	const struct live *l = live_of(s);
	if (!l->event[i].filtered)
		return LIVE_UNFILTERED;
	return l->event[i].unfiltered || livefilter_is_full(&l->filter) ? LIVE_PARTLY_FILTERED
								       : LIVE_FILTERED;
}
