#include "recorder/lostshare.h"

#include "tests/unit/tap.h"

static void estimates(struct lostshare_seen s, uint64_t n, uint64_t max,
		      const char *name)
{
	struct lostshare r = lostshare_estimate(&s);
	tap_ok(r.n == n && r.n_max == max && r.is_estimate != s.only_target,
	       "%s: %llu, at most %llu", name, (unsigned long long)r.n,
	       (unsigned long long)r.n_max);
}

int main(void)
{
	estimates((struct lostshare_seen){ 0 }, 0, 0, "nothing");
	estimates((struct lostshare_seen){ .n_lost = 7, .n_samples = 3, .value = 3, .used = -1,
					   .only_target = true }, 7, 7,
		  "all samples are the target's");
	estimates((struct lostshare_seen){ .n_lost = 7, .n_samples = 30, .value = 30, .used = 33,
					   .only_target = true }, 3, 7,
		  "of which some were other records, by the accounts");
	estimates((struct lostshare_seen){ .n_lost = 1000, .n_samples = 100, .n_foreign = 900,
					   .value = 100, .used = -1 }, 100, 1000,
		  "a tenth of the others, without accounts");
	estimates((struct lostshare_seen){ .n_lost = 43793, .n_samples = 400, .n_foreign = 0,
					   .value = 400e6, .used = 900e6 }, 500, 591,
		  "no more than the target used");
	estimates((struct lostshare_seen){ .n_lost = 43793, .n_samples = 100, .n_foreign = 99900,
					   .value = 100e6, .used = 99e6 }, 0, 31,
		  "nothing is missing by the accounts");
	estimates((struct lostshare_seen){ .n_lost = 5, .n_foreign = 100, .used = -1 }, 0, 5,
		  "the target was not seen");
	estimates((struct lostshare_seen){ .n_lost = 5, .used = -1 }, 5, 5, "no task was seen");
	estimates((struct lostshare_seen){ .n_lost = 10, .n_samples = 990, .value = 990,
					   .used = 1e9 }, 10, 10, "no more than were lost");
	return tap_done();
}
