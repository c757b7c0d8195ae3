/* Copies in a map of two CPUs, as the kernel writes them. */
#include "source/samplecopy.h"
#include "tap.h"

#include <stdlib.h>

#define SLOTS 8

static struct samplecopy_slot *slot;      /* of CPU 0, then of CPU 1 */
static struct samplecopy copy;

static void write_slot(uint32_t cpu, uint32_t i, uint32_t tid, uint64_t time_ns)
{
	struct samplecopy_slot *s = &slot[cpu * SLOTS + i % SLOTS];
	*s = (struct samplecopy_slot){ .time_ns = time_ns, .tid = tid, .at = { 0x400, 0, 0xc00 } };
	s->part[0][5] = (uint8_t)i;
	s->part[2][6] = (uint8_t)tid;
}

/* Which one was found; -1: none. */
static int find(struct samplecopy_reader *r, uint32_t cpu, uint32_t tid, uint64_t time_ns,
		struct samplecopy_copy *ret)
{
	return samplecopy_find(&copy, r, cpu, tid, time_ns, ret) ? ret->bytes[0][5] : -1;
}

static void test_find(void)
{
	struct samplecopy_reader r = { .next = { 0 } };
	struct samplecopy_copy c;
	tap_int(find(&r, 0, 7, 1000000, &c), -1, "nothing was copied yet");
	for (uint32_t i = 0; i < 6; i++)
		write_slot(0, i, 7 + i % 2, 1000000 + i * 100000);
	write_slot(1, 0, 7, 1000000);
	tap_int(find(&r, 0, 7, 999000, &c), 0, "a copy shortly after its sample");
	tap_ok(c.n == 2 && c.at[1] == 0xc00 && c.bytes[1][6] == 7, "the parts that were copied");
	tap_int(find(&r, 0, 8, 1101000, &c), 1, "one shortly before its sample");
	tap_int(find(&r, 0, 7, 1101000, &c), -1, "another thread has none at this time");
	tap_int(find(&r, 0, 7, 1255000, &c), -1, "nor has a sample in between");
	tap_int(find(&r, 0, 7, 1400000, &c), 4, "some were passed over");
	tap_int(find(&r, 0, 8, 1500000, &c), 5, "the last one");
	tap_int(find(&r, 1, 7, 1000000, &c), 0, "another CPU");
	tap_int(find(&r, 2, 7, 1000000, &c), -1, "a CPU that does not exist");
	tap_int(find(&r, UINT32_MAX, 7, 1000000, &c), -1, "a sample without its CPU");
}

static void test_again(void)
{
	struct samplecopy_reader r = { .next = { 0 } };
	struct samplecopy_copy c;
	for (uint32_t i = 0; i < 20; i++)
		write_slot(0, i, 7, 1000000 + i * 100000);
	tap_int(find(&r, 0, 7, 1500000, &c), -1, "a copy that was overwritten");
	for (uint32_t i = 20; i < 24; i++) {
		write_slot(0, i, 7, 1000000 + i * 100000);
		find(&r, 0, 7, 1000000 + i * 100000, &c);
	}
	tap_int(find(&r, 0, 7, 1000000 + 23 * 100000, &c), 23, "those after it are found");
	tap_ok(samplecopy_is_intact(&c), "intact");
	slot[23 % SLOTS].time_ns = 0;
	tap_ok(!samplecopy_is_intact(&c), "until it is overwritten");
	tap_int(find(&r, 0, 7, 1000000 + 23 * 100000, &c), -1, "then it is not found");
}

/* A sample without a copy must not lead the reader through what is left of the round before. */
static void test_none(void)
{
	struct samplecopy_reader r = { .next = { 0 } };
	struct samplecopy_copy c;
	for (uint32_t i = 0; i < 12; i++) {
		write_slot(0, i, 7, 1000000 + i * 100000);
		find(&r, 0, 7, 1000000 + i * 100000, &c);
	}
	for (uint32_t i = 0; i < 3; i++)
		find(&r, 0, 7, 3000000 + i * 100000, &c);
	tap_int((long)r.next[0], 12, "samples without a copy pass over nothing else");
}

static void test_near(void)
{
	struct samplecopy_reader r = { .next = { 0 } };
	struct samplecopy_copy c;
	for (uint32_t i = 0; i < 6; i++)
		write_slot(1, i, 7, 5000000 + i * 10000);
	tap_int(find(&r, 1, 7, 5000000 + 21000, &c), 2, "samples every 10 us: the nearest copy");
	tap_int(find(&r, 1, 7, 5000000 + 49000, &c), 5, "and the next one");
}

int main(void)
{
	slot = calloc(2 * SLOTS, sizeof(*slot));
	if (!slot)
		return 1;
	copy = (struct samplecopy){ .n_cpus = 2, .n_slots = SLOTS, .map = (const uint8_t *)slot };
	test_find();
	test_again();
	test_none();
	test_near();
	free(slot);
	return tap_done();
}
