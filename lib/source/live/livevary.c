/*
 * Varies the periods of clocks.
 *
 * A clock of a CPU fires at fixed intervals.  A program that repeats itself, with short threads or
 * requests for example, falls into step with it: the interrupt itself delays the program, which is
 * how two rhythms lock, so no choice of frequency helps.  In one run of six, the shares of such a
 * program, and its total, were off by up to 35 %.  So each clock gets a new period near its nominal
 * one from time to time, and loses step before it matters.
 *
 * A change restarts the timer (kernel/events/core.c, __perf_event_period) and loses the elapsed
 * part of the period, half of it on average.  The weight of samples includes that loss.
 *
 * The rate is drawn at random, and each draw is followed by its mirror image.  So two steps
 * together give as many samples as two at the nominal rate, even in short recordings.
 *
 * The ioctl does not reach inherited events.  A clock of a thread stops with its thread, and meets
 * the program's rhythm at another point after each switch.  A fixed period (-c) is not varied.
 */

#include "source/live/live-private.h"

#include <sys/ioctl.h>

#define NS_PER_S 1000000000u
#define PERIODS_PER_CHANGE 100u
#define CHANGE_NS_MIN 20000000u        /* wake-ups cost as well, */
#define CHANGE_NS_PER_FD 1000000u      /* and each descriptor interrupts its CPU */
#define WAKE_NS_MIN 50000000u          /* a change alone is not worth a wake-up earlier than this */
#define WIDTH 0.25

static bool is_varied(const struct live *l, const struct live_fd *f)
{
	if (f->event == RECORD_NO_EVENT || f->ends || l->event[f->event].paused)
		return false;
	const struct perf_event_attr *a = &l->event[f->event].attr;
	return a->freq && !a->inherit && a->sample_freq && a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* In [-1, 1]: any sequence without a rhythm will do; the same in each run is best. */
static double next_swing(struct livevary *v)
{
	v->mirrored = !v->mirrored;
	if (!v->mirrored)
		return v->swing = -v->swing;
	v->state = v->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return v->swing = (double)(v->state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* A period around the nominal one, within the kernel's limit; 0: the limit leaves no room. */
static double choose_period(double swing, double nominal_hz, double limit_hz)
{
	double width = limit_hz / nominal_hz - 1;
	if (width > WIDTH)
		width = WIDTH;
	return width < 0.02 ? 0 : NS_PER_S / (nominal_hz * (1 + width * swing));
}

/* The time between changes; 0: no clock varies. */
static uint64_t distance_ns(const struct live *l)
{
	uint64_t distance = CHANGE_NS_MIN;
	bool any = false;
	for (size_t i = 0; i < l->fds.n; i++) {
		if (!is_varied(l, &l->fds.v[i]))
			continue;
		any = true;
		uint64_t freq = l->event[l->fds.v[i].event].attr.sample_freq;
		uint64_t want = PERIODS_PER_CHANGE * (uint64_t)NS_PER_S / freq;
		distance = want > distance ? want : distance;
	}
	uint64_t bearable = l->fds.n * (uint64_t)CHANGE_NS_PER_FD;
	if (!any)
		return 0;
	return bearable > distance ? bearable : distance;
}

static void change_period(struct live *l, const struct live_fd *f, double swing, double distance)
{
	double nominal_hz = (double)l->event[f->event].attr.sample_freq;
	double limit_hz = (double)l->options.attr.rate_max_hz;
	double period = choose_period(swing, nominal_hz, limit_hz > 0 ? limit_hz : nominal_hz);
	uint64_t arg = (uint64_t)period;
	struct live_id *id = live_find_id(l, f->id);
	if (!arg || !id || ioctl(f->fd, PERF_EVENT_IOC_PERIOD, &arg) < 0)
		return;  /* keep the old period */
	live_note_period(id, (uint64_t)(period + period * period / (2 * distance)));
}

/*
 * How long the clock ran since its last change, if that is long enough for another one; 0: wait.
 * A clock of a cgroup runs only while a task of the group does: beside busy neighbours it would
 * lose half a period far more often than each hundred.  Reading its counter interrupts the CPU, and
 * is left out where one reader has counted the samples.
 */
static uint64_t ran_ns(struct live *l, struct live_fd *f, uint64_t distance)
{
	const struct live_id *id = live_find_id(l, f->id);
	struct source_count c = { 0 };
	if (l->options.scope != LIVE_CGROUP || !id)
		return distance;
	uint64_t nominal = NS_PER_S / l->event[f->event].attr.sample_freq;
	if (l->n_readers <= 1) {
		c.value = f->varied_value + id->n_changed * (id->period ? id->period : nominal);
	} else {
		live_add_count(l, f, &c);
		if (c.value < f->varied_value)
			f->varied_value = 0;  /* it was opened anew */
	}
	uint64_t ran = c.value - f->varied_value;
	if (ran < PERIODS_PER_CHANGE * nominal / 10 * 9)
		return 0;
	f->varied_value = c.value;
	return ran;
}

/* The ring of a CPU; descriptors are mostly in the order of the rings, so *at is a hint. */
static struct live_ring *ring_of(struct live *l, int cpu, size_t *at)
{
	for (size_t k = 0; k < l->n_rings; k++, ++*at) {
		if (*at >= l->n_rings)
			*at = 0;
		if (l->ring[*at].cpu == cpu)
			return &l->ring[*at];
	}
	return NULL;
}

/*
 * Changes the clocks of CPUs that have written since their last change: others are in step with
 * nothing, and their CPU need not be interrupted.  The rings were read since the change before
 * last, so they hold no older samples.
 */
static bool change_active(struct live *l, uint64_t distance)
{
	bool any = false;
	size_t at = 0;
	double swing = 0;
	for (size_t i = 0; i < l->fds.n; i++) {
		struct live_fd *f = &l->fds.v[i];
		const struct live_ring *r = is_varied(l, f) ? ring_of(l, f->cpu, &at) : NULL;
		if (!r || r->ring.tail == r->varied_at)
			continue;
		uint64_t ran = ran_ns(l, f, distance);
		if (!ran)
			continue;
		swing = any ? swing : next_swing(&l->vary);
		any = true;
		change_period(l, f, swing, (double)ran);
	}
	for (size_t i = 0; i < l->n_rings; i++)
		l->ring[i].varied_at = l->ring[i].ring.tail;
	return any;
}

void livevary_renew(struct live *l)
{
	l->vary.is_known = false;
}

int livevary_step(struct live *l, uint64_t now)
{
	struct livevary *v = &l->vary;
	if (!v->is_known)
		v->distance_ns = distance_ns(l);
	v->is_known = true;
	if (!v->distance_ns)
		return -1;
	if (now >= v->due_ns && (change_active(l, v->distance_ns) ||
				 l->options.scope == LIVE_CGROUP))
		v->due_ns = now + v->distance_ns;
	uint64_t late = v->distance_ns < WAKE_NS_MIN ? WAKE_NS_MIN - v->distance_ns : 0;
	return v->due_ns > now ? (int)((v->due_ns + late - now) / 1000000) + 1
			       : (int)((v->distance_ns + late) / 1000000);
}
