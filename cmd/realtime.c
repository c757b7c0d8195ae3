#include "cmd/realtime.h"

#include "base/rights.h"

#include <sched.h>

void realtime_set(bool on)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	/* Where only RLIMIT_RTPRIO allows it, without CAP_SYS_NICE, SCHED_RESET_ON_FORK cannot be
	 * cleared again. */
	if (on)
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
	else if (sched_setscheduler(0, SCHED_OTHER, &p) < 0)
		sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p);
}
