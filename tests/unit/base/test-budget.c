#include "base/budget.h"

#include "tap.h"

#include <stdint.h>

int main(void)
{
	struct budget b;
	budget_init(&b, 100);
	tap_ok(budget_charge(&b, 60) && b.used_bytes == 60, "charged");
	tap_ok(!budget_charge(&b, 41) && b.used_bytes == 60 && b.n_refused == 1,
	       "what would pass the limit is refused, with nothing charged");
	tap_ok(budget_charge(&b, 40) && b.used_bytes == 100, "up to the limit");
	tap_ok(!budget_charge(&b, 1), "not a byte more");
	tap_ok(budget_charge(&b, 0), "nothing is always allowed");
	tap_ok(!budget_charge(&b, SIZE_MAX) && b.used_bytes == 100, "sums do not overflow");
	budget_charge_always(&b, 50);
	tap_ok(b.used_bytes == 150 && b.peak_bytes == 150, "charged beyond the limit");
	tap_ok(!budget_charge(&b, 1) && b.n_refused == 4, "beyond it all is refused");
	budget_release(&b, 120);
	tap_ok(b.used_bytes == 30 && b.peak_bytes == 150, "released; the peak stays");
	tap_ok(budget_charge(&b, 70), "and can be charged again");
	budget_init(&b, 0);
	tap_ok(budget_charge(&b, SIZE_MAX / 2) && budget_charge(&b, 1) && !b.n_refused,
	       "0 is no limit");
	return tap_done();
}
