#include "cmd/realtime.h"

#include <sched.h>

void realtime_set(bool on)
{
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}
