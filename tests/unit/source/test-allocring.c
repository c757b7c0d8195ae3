/* The ring as a program writes it, and as a hostile one does. */

#include "source/allocring.h"

#include "base/clock.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 65536u

static struct allocring ring;
static uint8_t *data;          /* the ring, as the program has it */

static struct allocformat_free freed(uint64_t addr, uint64_t time_ns)
{
	return (struct allocformat_free){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER,
		.size = sizeof(struct allocformat_free), .id = ALLOCFORMAT_FREE,
		.pid = 1, .tid = 2, .time_ns = time_ns, .addr = addr,
	};
}

static void write_bytes(const void *p, size_t n_bytes)
{
	for (size_t i = 0; i < n_bytes; i++)
		data[(ring.head->head + i) % BYTES] = ((const uint8_t *)p)[i];
	ring.head->head += n_bytes;
}

static void open_ring(void)
{
	struct err *e = NULL;
	allocring_make(&ring, BYTES, e);
	data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
		    ALLOCFORMAT_HEAD_BYTES);
	allocring_start(&ring, 4096, 1024, true);
}

static void close_ring(void)
{
	munmap(data, BYTES);
	allocring_close(&ring);
}

static void test_records(void)
{
	struct record r;
	struct allocformat_free f = freed(0x1000, 5);
	open_ring();
	tap_ok(!allocring_next(&ring, 100, &r), "an empty ring");
	write_bytes(&f, sizeof(f));
	f = freed(0x2000, 200);
	write_bytes(&f, sizeof(f));
	tap_ok(allocring_next(&ring, 100, &r) && r.sample.addr == 0x1000 && r.pid == 1 &&
	       r.tid == 2 && r.id == ALLOCFORMAT_FREE, "a record");
	tap_ok(!allocring_next(&ring, 100, &r), "a later one stays");
	tap_ok(allocring_next(&ring, 200, &r) && r.sample.addr == 0x2000, "until its time");
	bool right = true;
	for (uint64_t i = 0; i < 5000; i++) {
		f = freed(i, i);
		write_bytes(&f, sizeof(f));
		right &= allocring_next(&ring, UINT64_MAX, &r) && r.sample.addr == i;
	}
	tap_ok(right && !ring.is_bad, "records that go around the ring");
	close_ring();
}

static void test_blocks(void)
{
	struct {
		struct allocformat_alloc a;
		uint64_t stack[2], n_copied;
		struct allocformat_tail tail;
	} b = { .a = {
		.type = PERF_RECORD_SAMPLE, .size = sizeof(b), .id = ALLOCFORMAT_ALLOC, .pid = 1,
		.tid = 2, .time_ns = 3, .addr = 4, .n_bytes = 5, .abi = PERF_SAMPLE_REGS_ABI_64,
		.stack_bytes = 16,
	}, .stack = { 6, 7 }, .n_copied = 16, .tail = { 8, 9, 10 } };
	struct record r;
	tap_ok(allocring_decode(&b, sizeof(b), &r) && r.sample.period == 5 &&
	       r.sample.weight == 8 && r.sample.n_user_stack_bytes == 16 &&
	       memcmp(r.sample.user_stack, b.stack, 16) == 0 && r.sample.data_src == 9 &&
	       r.sample.transaction == 10, "a block with its stack");
	b.tail.mean = 0;
	tap_ok(!allocring_decode(&b, sizeof(b), &r), "a mean of zero is refused");
	b.tail.mean = 8;
	b.a.stack_bytes = UINT64_MAX - 7;
	tap_ok(!allocring_decode(&b, sizeof(b), &r), "a stack beyond its record is refused");
	b.a.stack_bytes = 16;
	b.a.id = 77;
	tap_ok(!allocring_decode(&b, sizeof(b), &r), "an unknown id is refused");
}

/* What the program writes, and where it says that its data end. */
static void try_hostile(const char *name, const void *p, size_t n_bytes, uint64_t head)
{
	struct record r;
	open_ring();
	write_bytes(p, n_bytes);
	if (head)
		ring.head->head = head;
	tap_ok(!allocring_next(&ring, UINT64_MAX, &r) && ring.is_bad, "%s", name);
	close_ring();
}

static void test_hostile(void)
{
	struct allocformat_free f = freed(1, 1);
	try_hostile("a head beyond the ring", &f, sizeof(f), UINT64_C(1) << 60);
	try_hostile("a head that is not aligned", &f, sizeof(f), 13);
	try_hostile("a head before the tail", &f, sizeof(f), UINT64_MAX - 7);
	f.size = 0;
	try_hostile("a record without size", &f, sizeof(f), 0);
	f.size = 65528;
	try_hostile("a record longer than what was written", &f, sizeof(f), 0);
	f = freed(1, 1);
	f.type = PERF_RECORD_MMAP2;
	try_hostile("another type of record", &f, sizeof(f), 0);
}

static void test_two_profilers(void)
{
	struct allocring other;
	char path[64];
	open_ring();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ring.fd);
	tap_int(allocring_open(&other, open(path, O_RDWR | O_CLOEXEC)), 0, "opened again");
	tap_int(allocring_start(&other, 1, 8, false), -EBUSY, "a ring has one reader");
	allocring_stop(&ring);
	tap_int(allocring_start(&other, 1, 8, false), 0, "then the next one");
	allocring_close(&other);
	close_ring();
}

static void test_lock(void)
{
	uint64_t second = UINT64_C(1000000000), now = clock_monotonic_ns();
	open_ring();
	ring.head->lock = 77;
	allocring_tend(&ring, now);
	allocring_tend(&ring, now + second / 2);
	tap_int(ring.head->lock, 77, "a writer has time");
	allocring_tend(&ring, now + 2 * second);
	tap_int(ring.head->lock, 0, "but does not keep the lock for ever");
	ring.head->active = 0;
	allocring_tend(&ring, now + 3 * second);
	tap_ok(ring.head->active == ring.number, "a program that has given up begins again");
	close_ring();
}

static void test_files(void)
{
	struct allocring other;
	tap_int(allocring_open(&other, memfd_create("x", MFD_ALLOW_SEALING | MFD_CLOEXEC)),
		-EINVAL, "a memfd that may shrink is refused");
	int fd = memfd_create("x", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	bool ok = ftruncate(fd, ALLOCFORMAT_HEAD_BYTES) == 0 &&
		  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
	tap_ok(ok && allocring_open(&other, fd) == -EINVAL, "one without a head is refused");
	tap_int(allocring_open(&other, open("/dev/null", O_RDWR | O_CLOEXEC)), -EINVAL,
		"a device is refused");
}

int main(void)
{
	test_records();
	test_blocks();
	test_hostile();
	test_two_profilers();
	test_lock();
	test_files();
	return tap_done();
}
