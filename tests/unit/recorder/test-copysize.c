#include "recorder/kinds/copysize.h"
#include "tests/unit/tap.h"

#define S UINT64_C(1000000000)
#define RING (UINT64_C(8) << 20)

static struct copysize z;
static struct copysize_seen seen;

static uint32_t look(void)
{
	uint32_t bytes = copysize_wanted(&z, &seen);
	if (bytes != z.bytes)
		copysize_changed(&z, bytes);
	return bytes;
}

static void begin(uint32_t bytes, uint64_t ring_bytes, bool is_fixed)
{
	copysize_init(&z, bytes, ring_bytes, is_fixed);
	seen = (struct copysize_seen){ .time_ns = S };
	look();
}

/* In the next second: n stacks, some truncated, some samples lost.  Returns the new size. */
static uint32_t after(uint64_t n, uint64_t cut, uint64_t lost)
{
	seen.n_stacks += n;
	seen.n_beyond += cut;
	seen.n_lost += lost;
	seen.time_ns += S;
	return look();
}

int main(void)
{
	begin(8192, RING, false);
	tap_int(after(1000, 0, 0), 8192, "no truncated stack: the size stays");
	tap_int(after(1000, 20, 0), 8192, "one in fifty may be truncated");
	tap_int(after(1000, 21, 0), 16384, "more than that: twice the size");
	tap_int(after(100, 24, 0), 16384, "a hundred stacks are not enough");
	tap_int(after(100, 0, 0), 32768, "but they add up");
	begin(16384, RING, false);
	tap_int(after(49, 49, 0), 16384, "nor are 49 that are all truncated");
	tap_int(after(1, 0, 0), 32768, "50 are, if a quarter is truncated");
	tap_int(after(1000, 900, 0), 65528, "at most what the kernel accepts");
	tap_int(after(1000, 900, 0), 65528, "and not more");
	tap_int(z.n_changes, 2, "two changes");

	tap_int(after(10, 0, 1), 32760, "samples are lost: half, in steps of 8");
	tap_int(after(1000, 900, 0), 32760, "and it never grows again");
	tap_int(after(1000, 0, 5), 16376, "lost again: half again");
	for (int i = 0; i < 10; i++)
		after(1000, 900, 1);
	tap_ok(z.bytes <= 4096 && z.bytes >= 2040 && z.bytes % 8 == 0, "down to some KiB: %u",
	       z.bytes);
	uint32_t least = z.bytes;
	tap_int(after(1000, 900, 0), least, "where it stays");

	begin(8192, RING, true);
	after(1000, 900, 0);
	tap_int(after(1000, 900, 7), 8192, "a given size never changes");

	/* 8 MiB last 40 ms at 16384 bytes and 12800 per second, 20 ms at 25600 */
	begin(8192, RING, false);
	tap_int(after(12000, 9000, 0), 16384, "a ring that lasts long enough");
	begin(8192, RING, false);
	tap_int(after(14000, 9000, 0), 8192, "a ring that would not last");
	begin(8192, RING, false);
	seen.is_prompt = true;
	tap_int(after(24000, 9000, 0), 16384, "half the time suffices for a prompt reader");
	begin(8192, RING, false);
	seen.is_prompt = true;
	tap_int(after(28000, 9000, 0), 8192, "but not less");
	copysize_init(&z, 8192, RING, false);
	seen = (struct copysize_seen){ .time_ns = S, .n_stacks = 300, .n_beyond = 300 };
	tap_int(look(), 8192, "the rate is unknown at first");
	return tap_done();
}
