/* Why a profile has no samples: causes that do not depend on the kind of recorder. */

#include "base/err.h"
#include "recorder/recorder-private.h"

#include <errno.h>

int cprof_recorder_check(struct cprof_recorder *rec, size_t event, bool *ret_counted_zero,
			 struct err *e)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	cprof_recorder_stats(rec, &st);
	cprof_recorder_event_stats(rec, event, &ev);
	*ret_counted_zero = false;
	if (ev.n_samples || ev.value)
		return 0;
	if (rec->config.delay_ns && rec->window.end_ns < rec->engine.window.start_ns) {
		err_set(e, ENODATA, "there is no sample of '%s': the recording ended before its "
			"delay was over", ev.name);
		err_hint(e, "the target may have ended: use a shorter --delay");
		return -ENODATA;
	}
	*ret_counted_zero = ev.is_waiting ||
			    (!ev.is_clock && ev.counted == 0 && ev.time_running_ns);
	return rec->kind->why_empty(&rec->session, &st, &ev, e);
}
