/* Why is there nothing?  The likely cause of a recording without one sample. */

#include "base/err.h"
#include "base/units.h"
#include "session/recorder-private.h"

#include <errno.h>
#include <string.h>

static int explain_clock(const struct cprof_stats *st, const struct cprof_event_stats *ev,
			 struct err *e)
{
	char used[UNITS_TEXT_MAX], period[UNITS_TEXT_MAX];
	uint64_t period_ns = ev->freq_hz ? 1000000000u / ev->freq_hz : ev->period;
	if (!st->cpu_used_known) {
		err_set(e, ENODATA, "not one sample of '%s' came", ev->name);
		err_hint(e, "the target may have been idle, or gone at once: record longer, or "
			    "sample faster (-F)");
	} else if (st->cpu_used_ns < 1000000u && st->duration_ns > 100000000u) {
		err_set(e, ENODATA, "not one sample of '%s' came: the target was idle", ev->name);
		err_hint(e, "record longer, or while it works");
	} else if (st->cpu_used_ns < 5 * period_ns) {
		err_set(e, ENODATA, "not one sample of '%s' came: the target used %s of CPU time, "
			"and one sample stands for %s", ev->name,
			units_duration_text(st->cpu_used_ns, used),
			units_duration_text(period_ns, period));
		err_hint(e, "record longer, or sample faster (-F)");
	} else {
		err_set(e, ENODATA, "not one sample of '%s' came, though the target used %s of CPU "
			"time", ev->name, units_duration_text(st->cpu_used_ns, used));
		err_hint(e,
			 st->scope == CPROF_SCOPE_TASK
				 ? "its threads may live shorter than a period each, which "
				   "--scope task cannot see: use --scope cpu (CAP_PERFMON or root)"
				 : "is it all on one side? see --user and --kernel");
	}
	return -ENODATA;
}

static int explain_counter(const struct cprof_event_stats *ev, struct err *e)
{
	if (ev->time_enabled_ns && !ev->time_running_ns) {
		err_set(e, ENODATA, "event '%s' never got a counter: all were in use", ev->name);
		err_hint(e, "ask for fewer events at once, or record longer than the turns that "
			    "they take (perf_event_mux_interval_ms, 4 ms by default); the NMI "
			    "watchdog may hold a counter (kernel.nmi_watchdog)");
	} else if (ev->counted == 0) {
		err_set(e, ENODATA, "event '%s' did not happen once", ev->name);
		err_hint(e, "perhaps the target does not get there; a raw event or a virtual "
			    "machine's PMU may also open and never count: see 'cprof list'");
	} else if (ev->period && ev->counted < ev->period) {
		err_set(e, ENODATA, "not one sample of '%s' came: it happened %llu times, and the "
			"period is %llu", ev->name, (unsigned long long)ev->counted,
			(unsigned long long)ev->period);
		err_hint(e, "record longer, or use a smaller period (-c)");
	} else if (!ev->counted_target) {
		err_set(e, ENODATA, "not one sample of '%s' came from the target", ev->name);
		err_hint(e, "record longer, or sample more often (-F, -c)");
	} else {
		err_set(e, ENODATA, "event '%s' counted %llu but not one sample came", ev->name,
			(unsigned long long)ev->counted);
		err_hint(e, "the PMU may be unable to interrupt, as in some virtual machines: use "
			    "-e cpu-clock; or it happened too seldom for this rate: use -c");
	}
	return -ENODATA;
}

int cprof_recorder_check(struct cprof_recorder *r, size_t event, bool *ret_counted_zero,
			 struct err *e)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	cprof_recorder_stats(r, &st);
	cprof_recorder_event_stats(r, event, &ev);
	*ret_counted_zero = false;
	if (ev.n_samples)
		return 0;
	*ret_counted_zero = !ev.is_clock && ev.counted == 0 &&
			    ev.time_running_ns;
	return ev.is_clock ? explain_clock(&st, &ev, e) : explain_counter(&ev, e);
}
