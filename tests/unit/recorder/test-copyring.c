#include "recorder/kinds/copyring.h"
#include "tests/unit/tap.h"

#define KIB UINT64_C(1024)
#define MS UINT64_C(1000000)
#define WANTED 65528u

static struct copyring ring;
static struct source_ring seen;
static uint64_t now_ns;
static bool is_prompt;

static void begin(uint32_t bytes, uint64_t size_bytes)
{
	ring = (struct copyring){ .bytes = bytes };
	seen = (struct source_ring){ .size_bytes = size_bytes, .wakeup_bytes = size_bytes / 4 };
	now_ns = 1000 * MS;
	is_prompt = true;
}

static uint32_t look(enum copyring_why *ret_why)
{
	uint32_t bytes;
	*ret_why = copyring_look(&ring, &seen, now_ns, WANTED, is_prompt, &bytes);
	if (bytes != ring.bytes)
		copyring_changed(&ring, &seen, now_ns, bytes);
	seen.peak_bytes = 0;
	return bytes;
}

/*
 * Some ms with so many samples per second, of which the ring holds n_waiting at most; looks every
 * 10 ms, and returns the size of the copies at the end.
 */
static uint32_t pass(unsigned ms, unsigned per_s, unsigned n_waiting)
{
	enum copyring_why why;
	for (unsigned at = 0; at < ms; at += 10) {
		uint64_t record = ring.bytes + 700;
		now_ns += 10 * MS;
		seen.taken_bytes += per_s * record / 100;
		seen.peak_bytes = n_waiting * record;
		if (seen.peak_bytes > seen.size_bytes)
			seen.peak_bytes = seen.size_bytes;
		look(&why);
	}
	return ring.bytes;
}

static uint32_t lose(unsigned n)
{
	enum copyring_why why;
	seen.n_lost += n;
	now_ns += 10 * MS;
	return look(&why);
}

/* The size that a ring gets in a second, from 8 KiB, at a rate and with a reader that lets so many
 * samples wait. */
static const struct { uint64_t ring_kib; unsigned per_s, n_waiting; bool is_late; uint32_t want; }
table[] = {
	/* the sizes of few CPUs */
	{ 4096, 1000, 16, false, 65528 },
	{ 4096, 1000, 16, true, 65528 },
	{ 8192, 5000, 32, false, 65528 },
	{ 8192, 12000, 40, false, 32768 },
	{ 8192, 12000, 40, true, 16384 },
	{ 8192, 50000, 100, false, 8192 },
	/* of many CPUs: at the default rate the reader decides */
	{ 1024, 1000, 4, false, 65528 },
	{ 512, 1000, 2, false, 65528 },
	{ 512, 1000, 8, false, 32768 },
	{ 256, 1000, 1, false, 65528 },
	{ 256, 1000, 4, false, 32768 },
	{ 128, 1000, 1, false, 32768 },
	{ 64, 1000, 1, false, 16384 },
	/* a high rate in a small ring */
	{ 512, 10000, 2, false, 8192 },
};

static void test_sizes(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		begin(8192, table[i].ring_kib * KIB);
		is_prompt = !table[i].is_late;
		uint32_t got = pass(1000, table[i].per_s, table[i].n_waiting);
		tap_ok(got == table[i].want, "%u KiB, %u Hz, %u samples wait%s: %u bytes",
		       (unsigned)table[i].ring_kib, table[i].per_s, table[i].n_waiting,
		       table[i].is_late ? ", normal priority" : "", got);
	}
}

static void test_back_off(void)
{
	begin(WANTED, 4096 * KIB);
	pass(100, 1000, 10);
	tap_int(lose(1), 32768, "samples are lost: half");
	tap_int(lose(5), 32768, "records of the old size are still in the ring");
	tap_int(pass(110, 1000, 10), 32768, "not longer within an eighth of a second");
	tap_int(pass(50, 1000, 10), WANTED, "and as before after it");
	pass(100, 1000, 10);
	tap_int(lose(1), 32768, "lost again");
	tap_int(pass(240, 1000, 10), 32768, "a quarter of a second now");
	tap_int(pass(50, 1000, 10), WANTED, "but not for the rest of the run");
	for (int i = 0; i < 40; i++) {
		pass(100, 1000, 10);
		lose(1);
	}
	tap_int(ring.bytes, COPYRING_BYTES_MIN, "losses without an end: the smallest size");
	tap_int(pass(63000, 1000, 10), COPYRING_BYTES_MIN, "for a minute");
	tap_int(pass(2000, 1000, 10), WANTED, "and no longer");
	pass(600000, 1000, 10);
	lose(1);
	tap_int(pass(1500, 1000, 10), WANTED, "ten minutes later a loss is like the first one");

	begin(WANTED, 256 * KIB);
	pass(100, 1000, 1);
	tap_int(pass(10, 1000, 3), 32768, "a ring that is nearly full: half before the loss");
	tap_int(pass(1500, 1000, 5), 32768, "the reader stays late: so does the size");
	tap_int(pass(3500, 1000, 1), WANTED, "it is in time again");
}

/* More readers: what was lost before, and until their caches are warm, is forgotten. */
static void test_relief(void)
{
	begin(WANTED, 512 * KIB);
	pass(100, 1000, 1);
	for (int i = 0; i < 10; i++) {
		pass(60, 1000, 1);
		lose(1);
	}
	tap_int(ring.bytes, COPYRING_BYTES_MIN, "losses one after the other: the smallest size");
	tap_int(pass(5000, 1000, 1), COPYRING_BYTES_MIN, "for long");
	seen.n_lost++;
	copyring_relieved(&ring, &seen, now_ns);
	pass(30, 1000, 100);
	tap_int(lose(3), COPYRING_BYTES_MIN, "more readers: as before at first");
	tap_int(pass(60, 1000, 1), 8192, "then twice the size as soon as the ring carries it");
	tap_int(pass(500, 1000, 1), WANTED, "up to what is wanted");
	tap_int(lose(1), 32768, "another loss is like the first one");
	tap_int(pass(300, 1000, 1), WANTED, "and holds as briefly");
}

/* A larger ring helps: one that would carry the larger copies, and no other. */
static void test_short(void)
{
	enum copyring_why why;
	begin(8192, 256 * KIB);
	pass(300, 5000, 4);
	look(&why);
	tap_int(why, COPYRING_SHORT, "a high rate: larger copies need a larger ring");
	begin(8192, 256 * KIB);
	pass(300, 200000, 4);
	look(&why);
	tap_int(why, COPYRING_STAYS, "a rate for which the largest ring is too small");
	begin(8192, COPYRING_RING_BYTES_MAX);
	pass(300, 50000, 4);
	look(&why);
	tap_int(why, COPYRING_STAYS, "the largest ring");
	begin(COPYRING_BYTES_MIN, 256 * KIB);
	pass(60, 1000, 1);
	seen.n_lost++;
	now_ns += 10 * MS;
	tap_int(look(&why), COPYRING_BYTES_MIN, "the smallest copies: lost samples");
	tap_int(why, COPYRING_LOST, "  need a larger ring, too");
}

/* A ring that fills fast is worth a larger one, even if it carries all copies. */
static void test_brief(void)
{
	enum copyring_why why;
	begin(WANTED, 8192 * KIB);
	pass(400, 5000, 32);
	look(&why);
	tap_int(why, COPYRING_STAYS, "a ring that lasts 25 ms: observed for a while");
	pass(400, 5000, 32);
	look(&why);
	tap_int(why, COPYRING_STAYS, "  not if its reader wakes up at a quarter");
	seen.wakeup_bytes = seen.size_bytes / 2;
	look(&why);
	tap_int(why, COPYRING_BRIEF, "  then a larger one would cost less");
	seen.share_bytes = 8192 * KIB;
	look(&why);
	tap_int(why, COPYRING_STAYS, "  but not all rings could have that size");
	seen.share_bytes = 16384 * KIB;
	look(&why);
	tap_int(why, COPYRING_BRIEF, "  all could");
	begin(WANTED, 8192 * KIB);
	pass(1200, 2000, 16);
	look(&why);
	tap_int(why, COPYRING_STAYS, "a ring that lasts 60 ms stays");
	begin(WANTED, 8192 * KIB);
	pass(1200, 9000, 32);
	look(&why);
	tap_int(why, COPYRING_STAYS, "and one that lasts 14 ms, which could overflow meanwhile");
	begin(WANTED, COPYRING_RING_BYTES_MAX);
	pass(1200, 9000, 32);
	look(&why);
	tap_int(why, COPYRING_STAYS, "so does the largest ring");
}

int main(void)
{
	test_sizes();
	test_back_off();
	test_relief();
	test_short();
	test_brief();
	return tap_done();
}
