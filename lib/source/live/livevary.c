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
#define WIDTH 0.25

static bool is_varied(const struct live *l, const struct live_fd *f)
{
	if (f->event == RECORD_NO_EVENT || l->event[f->event].paused)
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

static uint64_t distance_ns(const struct live *l)
{
	uint64_t distance = CHANGE_NS_MIN;
	for (size_t i = 0; i < l->fds.n; i++) {
		if (!is_varied(l, &l->fds.v[i]))
			continue;
		uint64_t freq = l->event[l->fds.v[i].event].attr.sample_freq;
		uint64_t want = PERIODS_PER_CHANGE * (uint64_t)NS_PER_S / freq;
		distance = want > distance ? want : distance;
	}
	uint64_t bearable = l->fds.n * (uint64_t)CHANGE_NS_PER_FD;
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

int livevary_step(struct live *l, uint64_t now)
{
	struct livevary *v = &l->vary;
	bool any = false;
	for (size_t i = 0; i < l->fds.n && !any; i++)
		any = is_varied(l, &l->fds.v[i]);
	if (!any)
		return -1;
	uint64_t distance = distance_ns(l);
	/* The rings were read since the change before last, so they hold no older samples. */
	if (now >= v->due_ns && l->n_samples != v->n_samples) {
		double swing = next_swing(v);
		for (size_t i = 0; i < l->fds.n; i++)
			if (is_varied(l, &l->fds.v[i]))
				change_period(l, &l->fds.v[i], swing, (double)distance);
		v->n_samples = l->n_samples;
		v->due_ns = now + distance;
	}
	return v->due_ns > now ? (int)((v->due_ns - now) / 1000000) + 1
			       : (int)(distance / 1000000);
}
