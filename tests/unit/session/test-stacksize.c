#include "session/stacksize.h"
#include "tests/unit/tap.h"

#define S UINT64_C(1000000000)
#define RING (UINT64_C(8) << 20)

static struct stacksize z;
static uint64_t n_stacks, n_beyond, n_lost, now_ns;

static void begin(uint32_t bytes, uint64_t ring_bytes, bool is_fixed)
{
	stacksize_init(&z, bytes, ring_bytes, is_fixed);
	n_stacks = n_beyond = n_lost = 0;
	now_ns = S;
}

/* In the next second came n stacks, some of them cut, some samples lost; the size from then on. */
static uint32_t after(uint64_t n, uint64_t cut, uint64_t lost)
{
	n_stacks += n;
	n_beyond += cut;
	n_lost += lost;
	now_ns += S;
	uint32_t bytes = stacksize_wanted(&z, n_stacks, n_beyond, n_lost, now_ns);
	if (bytes != z.bytes)
		stacksize_changed(&z, bytes);
	return bytes;
}

int main(void)
{
	begin(8192, RING, false);
	tap_int(after(1000, 0, 0), 8192, "no stack is cut: the size stays");
	tap_int(after(1000, 20, 0), 8192, "one in fifty may be cut");
	tap_int(after(1000, 21, 0), 16384, "more than that: twice the size");
	tap_int(after(100, 100, 0), 16384, "a hundred stacks decide nothing");
	tap_int(after(100, 100, 0), 32768, "but they add up");
	tap_int(after(1000, 900, 0), 65528, "at most what the kernel takes");
	tap_int(after(1000, 900, 0), 65528, "and not more");
	tap_int(z.n_changes, 3, "three changes");

	tap_int(after(10, 0, 1), 32760, "samples are lost: half, in steps of 8");
	tap_int(after(1000, 900, 0), 32760, "and never again more");
	tap_int(after(1000, 0, 5), 16376, "lost again: half again");
	for (int i = 0; i < 10; i++)
		after(1000, 900, 1);
	tap_ok(z.bytes <= 4096 && z.bytes >= 2040 && z.bytes % 8 == 0, "down to some KiB: %u",
	       z.bytes);
	uint32_t least = z.bytes;
	tap_int(after(1000, 900, 0), least, "where it stays");

	begin(8192, RING, true);
	after(1000, 900, 0);
	tap_int(after(1000, 900, 7), 8192, "a size that was given is never changed");

	/* 8 MiB last 40 ms at 16384 bytes and 12800 per second */
	begin(8192, RING, false);
	after(12000, 0, 0);
	tap_int(after(12000, 9000, 0), 16384, "a ring that lasts long enough");
	begin(8192, RING, false);
	after(14000, 0, 0);
	tap_int(after(14000, 9000, 0), 8192, "a ring that would not");
	return tap_done();
}
