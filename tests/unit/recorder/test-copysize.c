#include "recorder/kinds/copysize.h"
#include "tests/unit/tap.h"

static struct copysize z;
static struct copysize_seen seen;

static void begin(uint32_t bytes)
{
	copysize_init(&z, bytes, false);
	seen = (struct copysize_seen){ 0 };
}

/* n more stacks, some truncated.  Returns the size that is wanted; all rings follow. */
static uint32_t after(uint64_t n, uint64_t cut)
{
	seen.n_stacks += n;
	seen.n_beyond += cut;
	return z.bytes_max = copysize_need(&z, &seen);
}

int main(void)
{
	begin(8192);
	tap_int(after(1000, 0), 8192, "no truncated stack: the size stays");
	tap_int(after(1000, 20), 8192, "one in fifty may be truncated");
	tap_int(after(1000, 21), 16384, "more than that: twice the size");
	tap_int(after(100, 24), 16384, "a hundred stacks are not enough");
	tap_int(after(100, 0), 32768, "but they add up");
	begin(16384);
	tap_int(after(49, 49), 16384, "nor are 49 that are all truncated");
	tap_int(after(1, 0), 32768, "50 are, if a quarter is truncated");
	tap_int(after(1000, 900), 65528, "at most what the kernel accepts");
	tap_int(after(1000, 900), 65528, "and not more");
	begin(8192);
	after(1000, 900);
	z.bytes_max = 8192;
	tap_int(copysize_need(&z, &seen), 16384, "no ring can carry that");
	seen.n_stacks += 1000;
	seen.n_beyond += 1000;
	tap_int(copysize_need(&z, &seen), 16384, "so it is not known to be too small");
	return tap_done();
}
