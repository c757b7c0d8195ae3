#include "source/ring.h"

#include "base/err.h"
#include "base/host.h"
#include "source/record.h"
#include "source/sim-ring.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct host host;

/* A record of n bytes: its header, then bytes that depend on a number and their place. */
static size_t make_record(uint8_t *buf, uint16_t n_bytes, unsigned number)
{
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .size = n_bytes };
	memcpy(buf, &h, sizeof(h));
	for (size_t i = sizeof(h); i < n_bytes; i++)
		buf[i] = (uint8_t)(number * 31 + i);
	return n_bytes;
}

static bool is_record(const void *got, size_t n_got, uint16_t n_bytes, unsigned number)
{
	uint8_t want[RECORD_BYTES_MAX + 1];
	return got && n_got == n_bytes &&
	       memcmp(got, want, make_record(want, n_bytes, number)) == 0;
}

static bool put(struct sim_ring *s, uint16_t n_bytes, unsigned number)
{
	uint8_t buf[RECORD_BYTES_MAX + 1];
	return sim_ring_write(s, buf, make_record(buf, n_bytes, number));
}

static void open_sim(struct sim_ring *s, struct ring *r, uint64_t n_data_bytes)
{
	sim_ring_init(s, n_data_bytes);
	if (ring_open_memory(r, s->control, n_data_bytes) < 0)
		abort();
}

static void close_sim(struct sim_ring *s, struct ring *r)
{
	ring_close(r);
	sim_ring_done(s);
}

static void test_basics(void)
{
	struct sim_ring s;
	struct ring r;
	size_t n;
	open_sim(&s, &r, 4096);
	tap_ok(ring_fetch(&r) == 0 && !ring_next(&r, &n), "an empty ring has no records");
	put(&s, 24, 1);
	put(&s, 8, 2);
	tap_ok(ring_fetch(&r) == 0 && !ring_next(&r, &n), "unpublished data is not visible");
	sim_ring_publish(&s);
	tap_ok(!ring_next(&r, &n), "published data is visible only after a fetch");
	tap_int((long long)ring_fetch(&r), 32, "fetch gives the head");
	tap_int((long long)ring_waiting(&r), 32, "bytes wait");
	const void *p = ring_next(&r, &n);
	tap_ok(is_record(p, n, 24, 1), "first record");
	tap_ok(p == s.data, "it is not copied");
	p = ring_next(&r, &n);
	tap_ok(is_record(p, n, 8, 2), "second record: a bare header");
	tap_ok(!ring_next(&r, &n), "no third record");
	tap_int((long long)s.control->data_tail, 0, "nothing is released automatically");
	ring_release_to(&r, 24);
	tap_int((long long)s.control->data_tail, 24, "released up to a position");
	ring_release(&r);
	tap_int((long long)s.control->data_tail, 32, "everything is released");
	tap_ok(!r.overrun && !r.n_broken, "no errors");
	close_sim(&s, &r);
	tap_ok(!r.base && !r.data, "a closed ring holds nothing");
}

/* Records of all sizes pass through the ring, each read as soon as it is written. */
static void test_wrap(void)
{
	struct sim_ring s;
	struct ring r;
	size_t n;
	open_sim(&s, &r, 4096);
	int n_wrong = 0, n_wrapped = 0;
	for (unsigned i = 0; i < 20000; i++) {
		uint16_t n_bytes = (uint16_t)(8 + (i * 40503u >> 4) % 511 * 8);
		if (!put(&s, n_bytes, i))
			n_wrong++;
		sim_ring_publish(&s);
		ring_fetch(&r);
		const void *p = ring_next(&r, &n);
		n_wrong += !is_record(p, n, n_bytes, i);
		n_wrapped += (const uint8_t *)p + n > s.data + 4096;
		n_wrong += ring_at(&r, r.tail - n, &n) != p || n != n_bytes;
		ring_release(&r);
	}
	tap_int(n_wrong, 0, "20000 records around a page");
	tap_ok(n_wrapped > 1000, "%d of them wrapped", n_wrapped);
	close_sim(&s, &r);

	open_sim(&s, &r, 65536);
	sim_ring_start_at(&s, 65536 - 8);
	r.tail = r.head = 65536 - 8;
	put(&s, 65528, 7);
	sim_ring_publish(&s);
	ring_fetch(&r);
	const void *p = ring_next(&r, &n);
	tap_ok(is_record(p, n, 65528, 7) && p == s.data + 65528,
	       "the largest record wraps after its header");
	close_sim(&s, &r);
}

static void test_full(void)
{
	struct sim_ring s;
	struct ring r;
	size_t n;
	open_sim(&s, &r, 4096);
	for (unsigned i = 0; i < 64; i++)
		put(&s, 64, i);
	tap_ok(!put(&s, 64, 64), "the ring is full");
	sim_ring_publish(&s);
	ring_fetch(&r);
	int n_right = 0;
	for (unsigned i = 0; i < 64; i++) {
		const void *p = ring_next(&r, &n);
		n_right += is_record(p, n, 64, i);
	}
	tap_int(n_right, 64, "a full ring returns all its records");
	tap_ok(!ring_next(&r, &n) && !r.overrun && !r.n_broken, "and no more");
	close_sim(&s, &r);
}

/* Positions have 64 bits; even passing 2^64 does no harm. */
static void test_far_positions(void)
{
	struct sim_ring s;
	struct ring r;
	size_t n;
	open_sim(&s, &r, 4096);
	sim_ring_start_at(&s, UINT64_MAX - 4095);
	r.tail = r.head = r.released = UINT64_MAX - 4095;
	int n_right = 0;
	for (unsigned i = 0; i < 200; i++) {
		put(&s, 72, i);
		sim_ring_publish(&s);
		ring_fetch(&r);
		const void *p = ring_next(&r, &n);
		n_right += is_record(p, n, 72, i);
		ring_release(&r);
	}
	tap_int(n_right, 200, "records across position 2^64");
	close_sim(&s, &r);
}

static void test_broken(void)
{
	static const struct { uint16_t size; const char *name; } bad[] = {
		{ 0, "size 0" }, { 4, "size 4" }, { 12, "size 12" }, { 63, "size 63" },
		{ 200, "a size beyond the head" }, { 65535, "size 65535" },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sim_ring s;
		struct ring r;
		size_t n;
		uint8_t buf[64];
		open_sim(&s, &r, 4096);
		put(&s, 64, 1);
		make_record(buf, 64, 2);
		((struct perf_event_header *)buf)->size = bad[i].size;
		sim_ring_write(&s, buf, 64);
		put(&s, 64, 3);
		sim_ring_publish(&s);
		ring_fetch(&r);
		const void *p = ring_next(&r, &n);
		tap_ok(is_record(p, n, 64, 1), "%s: the record before it is returned", bad[i].name);
		tap_ok(!ring_next(&r, &n) && r.n_broken == 1 && ring_waiting(&r) == 0,
		       "%s: counted, the rest is skipped", bad[i].name);
		put(&s, 64, 4);
		sim_ring_publish(&s);
		ring_fetch(&r);
		p = ring_next(&r, &n);
		tap_ok(is_record(p, n, 64, 4), "%s: later records are read", bad[i].name);
		close_sim(&s, &r);
	}
}

static void test_overrun(void)
{
	struct sim_ring s;
	struct ring r;
	size_t n;
	open_sim(&s, &r, 4096);
	s.control->data_head = 4096 + 64;
	ring_fetch(&r);
	tap_ok(r.overrun && !ring_next(&r, &n) && !r.n_broken,
	       "a head beyond the data: everything is skipped");
	s.head = s.control->data_head;
	s.control->data_tail = s.head;
	put(&s, 64, 1);
	sim_ring_publish(&s);
	ring_fetch(&r);
	const void *p = ring_next(&r, &n);
	tap_ok(is_record(p, n, 64, 1), "later records are read");
	s.control->data_head = 8;
	ring_fetch(&r);
	tap_ok(r.overrun && !ring_next(&r, &n), "a head that goes back: nothing to read");
	s.control->data_head = 8 + 4095;
	ring_fetch(&r);
	while (ring_next(&r, &n))
		;
	tap_ok(r.tail % 8 == 0, "an unaligned head does not make the tail unaligned");
	close_sim(&s, &r);
}

static void test_open(void)
{
	struct ring r = { .n_broken = 99 };
	struct err e = { 0 };
	static uint64_t memory[1024];
	tap_int(ring_open_memory(&r, memory, 0), -EINVAL, "no data");
	tap_int(ring_open_memory(&r, memory, 4), -EINVAL, "4 bytes of data");
	tap_int(ring_open_memory(&r, memory, 24), -EINVAL, "not a power of two");
	tap_int(ring_open(&r, &host, -1, 3, &e), -EINVAL, "three pages");
	tap_str(e.what, "cannot map a ring of 3 pages: not a power of two", "and its message");
	tap_int(ring_open(&r, &host, -1, 0, &e), -EINVAL, "no pages");
	tap_int(ring_open(&r, &host, -1, (size_t)1 << 63, &e), -EINVAL, "2^63 pages");
	tap_int(ring_open(&r, &host, -1, 4, &e), -EBADF, "no descriptor");
	tap_str(e.what, "cannot map a ring of 16.0 KiB: Bad file descriptor", "and its message");
	tap_ok(r.n_broken == 99, "a failure does not change the ring");
	ring_close(&(struct ring){ 0 });
}

/* ---- the kernel's rings ------------------------------------------------------- */

static int open_dummy(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.comm = 1, .exclude_kernel = 1, .exclude_hv = 1, .sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TID,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void test_live(void)
{
	int fd = open_dummy();
	if (fd < 0) {
		tap_skip("a kernel ring", strerror(errno));
		return;
	}
	struct ring r;
	struct err e = { 0 };
	if (tap_int(ring_open(&r, &host, fd, 2, &e), 0, "a kernel ring opens")) {
		size_t n = 0;
		int n_comm = 0;
		for (int i = 0; i < 1000; i++) {
			pthread_setname_np(pthread_self(), i & 1 ? "test-odd" : "test-even");
			ring_fetch(&r);
			const struct perf_event_header *h = ring_next(&r, &n);
			n_comm += h && h->type == PERF_RECORD_COMM && n >= 32 &&
				  !strcmp((const char *)(h + 2), i & 1 ? "test-odd" : "test-even");
			ring_release(&r);
		}
		tap_int(n_comm, 1000, "1000 names of this thread arrive through 8 KiB");
		tap_ok(!r.overrun && !r.n_broken, "no errors");
		ring_close(&r);
	}
	close(fd);
}

/* Requests more than allowed, as an unprivileged user. */
static void deny(int out)
{
	struct err e = { 0 };
	struct ring r;
	if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		dprintf(out, "skip: cannot give up root");
	else {
		int fd = open_dummy();
		if (fd < 0)
			dprintf(out, "skip: perf_event_open: %s", strerror(errno));
		else if (ring_open(&r, &host, fd, (size_t)1 << 18, &e) == 0)
			dprintf(out, "skip: no limit here");
		else
			dprintf(out, "%d %s\n%s", e.code, e.what, e.hint);
	}
	_exit(0);
}

static void test_denied(void)
{
	int ends[2];
	if (pipe(ends) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		deny(ends[1]);
	close(ends[1]);
	char text[4096];
	size_t n = 0;
	for (ssize_t got; (got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0;
	     n += (size_t)got)
		;
	text[n] = '\0';
	close(ends[0]);
	waitpid(pid, NULL, 0);
	if (strncmp(text, "skip: ", 6) == 0) {
		tap_skip("more than may be locked", text + 6);
		return;
	}
	static const char start[] = "-1 cannot map a ring of 1.0 GiB: Operation not permitted\n"
				    "locked memory is limited to kernel.perf_event_mlock_kb (";
	bool ok = strncmp(text, start, sizeof(start) - 1) == 0 && strstr(text, "RLIMIT_MEMLOCK") &&
		  strstr(text, "CAP_IPC_LOCK") && strstr(text, "per CPU would fit");
	if (!tap_ok(ok, "more than may be locked: the message names limits and what would fit"))
		printf("# %s\n", text);
}

/* A file sealed against writing refuses a shared mapping like the kernel does beyond the limit. */
static void test_limit(void)
{
	char proc[] = "/tmp/cprof-test-ring-XXXXXX", path[96];
	struct host fake;
	struct err e = { 0 };
	struct ring r;
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 || !mkdtemp(proc)) {
		tap_skip("the limit of a machine", "no sealed files here");
		return;
	}
	snprintf(path, sizeof(path), "mkdir -p %s/sys/kernel", proc);
	bool ok = system(path) == 0;
	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_mlock_kb", proc);
	FILE *f = fopen(path, "w");
	if (f) {
		fprintf(f, "77\n");
		fclose(f);
	}
	ok = ok && f && host_open(&fake, NULL, proc, NULL, &e) == 0;
	if (tap_ok(ok, "a machine with its own limit")) {
		tap_int(ring_open(&r, &fake, fd, 4, &e), -EPERM, "a ring beyond the limit");
		tap_ok(strstr(e.hint, "perf_event_mlock_kb (77 KiB)"),
		       "the hint has the limit of that machine");
		host_close(&fake);
	}
	snprintf(path, sizeof(path), "rm -r %s", proc);
	tap_int(system(path), 0, "and nothing is left");
	close(fd);
}

int main(void)
{
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		return 1;
	test_basics();
	test_wrap();
	test_full();
	test_far_positions();
	test_broken();
	test_overrun();
	test_open();
	test_limit();
	test_live();
	test_denied();
	host_close(&host);
	return tap_done();
}
