/* How long threads have been waiting: the calling thread is back on its CPU after each look. */
#include "snapshot/waitclock.h"

#include "base/clock.h"
#include "base/host.h"
#include "tests/unit/tap.h"

#include <sched.h>

static void round_trips(const struct host *h)
{
	cpu_set_t may, one, now;
	struct waitclock w;
	uint64_t ns;
	int home = sched_getcpu();
	unsigned int n_known = 0, n_away = 0, n_cpus = 0;
	if (home < 0 || sched_getaffinity(0, sizeof(may), &may) < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((unsigned int)home, &one);
	sched_setaffinity(0, sizeof(one), &one);
	waitclock_init(&w, h, clock_monotonic_ns());
	for (uint32_t cpu = 0; cpu < 64; cpu++) {
		if (!CPU_ISSET(cpu, &may))
			continue;
		n_cpus++;
		n_known += waitclock_of(&w, cpu, 1, &ns);
		n_away += sched_getcpu() != home;
		sched_getaffinity(0, sizeof(now), &now);
		n_away += !CPU_EQUAL(&now, &one);
	}
	tap_int(n_away, 0, "it never stays on another CPU");
	if (n_known)
		tap_int(n_known, n_cpus, "the clocks of all CPUs are known");
	tap_ok(!waitclock_of(&w, (uint32_t)home, 0, &ns),
	       "a thread that has moved to another CPU and not run there has no known wait");
	tap_ok(!waitclock_of(&w, CPU_SETSIZE, 1, &ns), "there is no such CPU");
	waitclock_done(&w);
	sched_setaffinity(0, sizeof(may), &may);
}

int main(void)
{
	struct host h;
	tap_int((long long)waitclock_round(0), 0, "0");
	tap_int((long long)waitclock_round(99), 99, "two digits stay");
	tap_int((long long)waitclock_round(123456), 120000, "others are rounded");
	tap_int((long long)waitclock_round(4250000000), 4300000000, "up, too");
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	round_trips(&h);
	host_close(&h);
	return tap_done();
}
