#include "engine/pauses.h"

#include "tests/unit/tap.h"

int main(void)
{
	struct pauses p = { 0 };
	tap_int((long long)pauses_end(&p, 7, 100), 0, "an end without a beginning");
	pauses_begin(&p, 0, 7, 100);
	pauses_begin(&p, 0, 8, 150);
	pauses_begin(&p, 1, 9, 160);
	pauses_begin(&p, 0, 7, 180);
	tap_int((long long)pauses_end(&p, 7, 300), 200, "from the first beginning to the end");
	tap_int((long long)pauses_end(&p, 7, 400), 0, "which counts once");
	pauses_begin(&p, 0, 7, 500);
	tap_int((long long)pauses_end_all(&p, 0, 600), 450 + 100, "what is paused at the end");
	tap_int((long long)pauses_end_all(&p, 0, 700), 0, "also counts once");
	tap_int((long long)pauses_end(&p, 9, 150), 0, "time that goes backwards is none");
	tap_int((long long)p.open.n, 0, "nothing is left");
	for (uint64_t i = 0; i < 1000; i++)
		pauses_begin(&p, 0, i, i);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < 1000; i += 2)
		sum += pauses_end(&p, i, 1000);
	tap_int((long long)sum, 500 * 1000 - 249500, "a thousand at once");
	pauses_done(&p);
	return tap_done();
}
