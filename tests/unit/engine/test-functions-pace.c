/* How often the samples of interpreters are read. */

#include "engine/functions-pace.h"

#include "tap.h"

#define PERIOD_NS 1000000u
#define MS 1000000u

static struct functions_pace pace;
static uint64_t now_ns, sample_ns;
static uint32_t n_samples;
static uint64_t lag_ns;                 /* of the last sample at its reading */

/* Wakes up when it is due, and finds the samples until then.  False: nothing is due. */
static bool step(bool is_unsure, bool is_running)
{
	uint64_t due_ns = functions_pace_due_ns(&pace, now_ns);
	if (due_ns == UINT64_MAX)
		return false;
	now_ns = due_ns;
	for (; is_running && sample_ns <= now_ns; sample_ns += PERIOD_NS, n_samples++) {
		functions_pace_note(&pace, 7, sample_ns, is_unsure);
		lag_ns = now_ns - sample_ns;
	}
	return true;
}

/* Wake-ups per 1000 samples, in the steady state. */
static uint64_t wakeups(bool is_unsure, uint32_t n)
{
	uint64_t before = pace.n_wakeups;
	n_samples = 0;
	while (n_samples < n)
		step(is_unsure, true);
	return (pace.n_wakeups - before) * 1000 / n_samples;
}

/* Drains in which callers are read, of n that come every ms. */
static int readings(int n)
{
	int ret = 0;
	for (int i = 0; i < n; i++, now_ns += MS)
		ret += functions_pace_reads(&pace, now_ns);
	return ret;
}

int main(void)
{
	functions_pace_init(&pace);
	now_ns = 5 * MS;
	tap_ok(functions_pace_due_ns(&pace, now_ns) == UINT64_MAX, "no samples: at any time");
	for (int i = 0; i < 3; i++) {
		sample_ns = now_ns;
		functions_pace_note(&pace, 7, sample_ns, true);
		now_ns += PERIOD_NS;
	}
	sample_ns = now_ns;
	tap_ok(wakeups(true, 200) > 900 && lag_ns < 100000, "each sample at first, and soon");
	tap_int(readings(32), 32, "callers are read in each drain");
	wakeups(true, 3000);
	uint64_t many = wakeups(true, 10000);
	tap_ok(many > 900, "each one as long as many callers are unknown");
	pace.is_frugal = true;
	wakeups(true, 5000);
	many = wakeups(true, 10000);
	tap_ok(many < 60, "one in 64 in a frugal recording");
	pace.is_frugal = false;
	wakeups(false, 1000);
	tap_int(readings(320), 3, "once for 112 samples at most if they are known");
	uint64_t few = wakeups(false, 10000);
	tap_ok(few > 5 && few < 10 && lag_ns < 100000, "few once they are known, after a sample");
	for (int i = 0; i < 2; i++, sample_ns += PERIOD_NS)
		functions_pace_note(&pace, 7, sample_ns, true);
	tap_int(readings(320), 12, "four times as often if some are not");
	wakeups(true, 10);
	tap_ok(wakeups(true, 100) > 800, "more when the program does something else");
	uint32_t n = 0;
	while (n < 1000 && step(true, false))
		n++;
	tap_ok(n > 2 && n < 20, "a thread that waits is not waited for");
	for (int i = 0; i < 1000; i++)
		functions_pace_note(&pace, 7, sample_ns = now_ns, false);
	for (n = 0; n < 1000 && step(false, false);)
		n++;
	tap_ok(n < 20, "likewise if all is known");
	tap_ok(functions_pace_due_ns(&pace, sample_ns - 1) == UINT64_MAX,
	       "a sample of the future");
	functions_pace_init(&pace);
	functions_pace_use_copies(&pace, 16);
	for (int i = 0; i < 3; i++, sample_ns = now_ns, now_ns += PERIOD_NS)
		functions_pace_note(&pace, 7, now_ns, false);
	wakeups(false, 2000);
	few = wakeups(false, 10000);
	tap_ok(few > 110 && few < 140, "with 16 copies once for 8 samples");
	tap_int(readings(320), 3, "and callers are read as before");
	pace.is_frugal = true;
	wakeups(true, 2000);
	many = wakeups(true, 10000);
	tap_ok(many < 140, "not more often in a frugal recording if some are not known");
	return tap_done();
}
