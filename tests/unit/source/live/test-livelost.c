/* Side-band records that a full ring loses are no lost samples. */

#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live-private.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_BYTES 4096u
/* Far more than the rings of all CPUs hold. */
#define MAPS 4000u

static struct err e;
static struct host host;

/* Each call makes a record. */
static void map_code(unsigned n)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < n; i++) {
		void *p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
		if (p != MAP_FAILED)
			munmap(p, page);
	}
}

/* The sum of the records of losses; *ret_samples: how many samples came. */
static uint64_t drain(struct source *s, uint64_t *ret_samples)
{
	struct record r;
	uint64_t n_lost = 0;
	while (source_next(s, &r, &e) == SOURCE_RECORD) {
		n_lost += r.type == PERF_RECORD_LOST ? r.lost.n_lost : 0;
		*ret_samples += r.type == PERF_RECORD_SAMPLE;
	}
	return n_lost;
}

/* A loss is reported by the next record of the same CPU. */
static void stay_here(void)
{
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

int main(void)
{
	struct evspec_list events = { 0 };
	struct source *s = NULL;
	struct source_count count;
	uint64_t n_samples = 0;
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, NULL, "cpu-clock", &e) < 0) {
		printf("Bail out! %s\n", e.what);
		return 1;
	}
	const struct live_options o = {
		.event = events.v, .n_events = events.n, .scope = LIVE_CPU,
		.attr = { .callgraph = EVATTR_CALLGRAPH_NONE, .cpu_wide = true,
			  .rate_default_hz = 1, .rate_max_hz = 10000 },
		.open = { .fn = evopen_syscall, .host = &host }, .ring_bytes = RING_BYTES,
	};
	if (live_open(&o, &s, &e) < 0) {
		tap_skip("losses of a whole CPU", e.what);
	} else {
		stay_here();
		source_enable(s, &e);
		map_code(MAPS);
		uint64_t n_lost = drain(s, &n_samples);
		/* The record of a loss comes before the next one that fits. */
		map_code(10);
		n_lost += drain(s, &n_samples);
		source_disable(s);
		source_count(s, 0, &count);
		tap_ok(n_lost > MAPS / 2, "%llu records are lost", (unsigned long long)n_lost);
		if (!count.has_lost)
			tap_skip("lost samples", "Linux counts them since 6.0");
		else
			tap_ok(count.n_lost < MAPS / 20, "of which %llu are samples, and %llu came",
			       (unsigned long long)count.n_lost, (unsigned long long)n_samples);
		source_close(s);
	}
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
