#include "cmd/realtime.h"

#include "tests/unit/tap.h"

#include <sched.h>
#include <unistd.h>

#define NOBODY 65534

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

int main(void)
{
	realtime_set(true);
	bool allowed = policy() == SCHED_FIFO;
	realtime_set(false);
	tap_int(policy(), SCHED_OTHER, "normal priority again");
	if (!allowed || geteuid() != 0) {
		tap_skip("a user with a limit of real-time priority", "only root can set one up");
		return tap_done();
	}
	/* A process may keep the priority that it has, as with RLIMIT_RTPRIO. */
	realtime_set(true);
	if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	tap_int(policy(), SCHED_FIFO, "a user at real-time priority");
	realtime_set(true);
	realtime_set(false);
	tap_int(policy(), SCHED_OTHER, "returns to normal priority without privileges");
	return tap_done();
}
