#include "cmd/realtime.h"

#include <sched.h>

void realtime_set(bool on)
{
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	/* Without CAP_SYS_NICE, where RLIMIT_RTPRIO allows it, SCHED_RESET_ON_FORK is for good. */
	if (on)
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
	else if (sched_setscheduler(0, SCHED_OTHER, &p) < 0)
		sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p);
}
