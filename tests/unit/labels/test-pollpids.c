/* When the processes of a list are read next. */
#include "labels/pollpids.h"
#include "base/clock.h"
#include "tests/unit/tap.h"

#define MS 1000000u

int main(void)
{
	struct pollpids p = { .next_ns = 0 };
	tap_ok(!pollpids_is_due(&p, 5 * MS, MS), "an empty list is never due");
	tap_int(pollpids_timeout_ms(&p), -1, "and nobody waits for it");
	for (uint32_t pid = 1; pid <= 3; pid++)
		VEC_PUSH(&p.pid, pid);
	tap_ok(pollpids_is_due(&p, 5 * MS, 20 * MS), "a new one is due at once");
	tap_ok(!pollpids_is_due(&p, 24 * MS, 20 * MS), "but not again");
	tap_ok(pollpids_is_due(&p, 25 * MS, 20 * MS), "before its longest time");
	pollpids_wants(&p, 25 * MS, 30 * MS);
	pollpids_wants(&p, 25 * MS, 40 * MS);
	tap_ok(pollpids_is_due(&p, 30 * MS, 20 * MS), "a process may want it earlier");
	pollpids_wants(&p, 60 * MS, 70 * MS);
	tap_ok(!pollpids_is_due(&p, 69 * MS, 20 * MS), "what is past is no bound");
	p.next_ns = clock_monotonic_ns();
	tap_int(pollpids_timeout_ms(&p), 0, "there is nothing to wait for");
	p.next_ns += 3600000ull * MS;
	int ms = pollpids_timeout_ms(&p);
	tap_ok(ms > 3000000, "the time to wait: %d ms", ms);
	pollpids_remove(&p, 2);
	tap_ok(p.pid.n == 2 && p.pid.v[0] == 1 && p.pid.v[1] == 3, "a process is removed");
	pollpids_remove(&p, 7);
	tap_int(p.pid.n, 2, "an unknown one is not");
	pollpids_done(&p);
	tap_int(pollpids_timeout_ms(&p), -1, "it is empty again");
	return tap_done();
}
