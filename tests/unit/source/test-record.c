#include "source/record.h"

#include "source/record-build.h"
#include "tap.h"

static const struct record_build_id at = {
	.pid = 11, .tid = 12, .time_ns = 1300, .id = 14, .stream_id = 15, .cpu = 16,
};

/* Decodes the only record of b from a copy that ends where the record does. */
static enum record_outcome decode_copy(const struct record_format *f, const struct record_build *b,
				       struct record *ret, void **ret_copy)
{
	*ret_copy = malloc(b->n_bytes);
	memcpy(*ret_copy, b->v, b->n_bytes);
	return record_decode(f, *ret_copy, b->n_bytes, ret);
}

/*
 * Every truncation, with the header adjusted and with the old size in it.  There must be no read
 * outside (ASan checks that), and the time peeked must agree with an accepted record.  Returns
 * whether it did; *ret_n_ok counts the shorter records that were accepted.
 */
static bool truncations_hold(const struct record_format *f, const struct record_build *b,
			     int *ret_n_ok)
{
	bool good = true;
	*ret_n_ok = 0;
	for (size_t n = 0; n < b->n_bytes; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		memcpy(copy, b->v, n);
		struct record r;
		uint64_t time_ns = 0;
		good &= record_decode(f, copy, n, &r) == RECORD_BAD;
		good &= !record_peek_time(f, copy, n, &time_ns);
		if (n >= sizeof(struct perf_event_header)) {
			((struct perf_event_header *)copy)->size = (uint16_t)n;
			bool timed = record_peek_time(f, copy, n, &time_ns);
			if (record_decode(f, copy, n, &r) == RECORD_OK) {
				good &= n % 8 == 0 && timed == r.has_time;
				good &= !timed || time_ns == r.time_ns;
				++*ret_n_ok;
			}
		}
		free(copy);
	}
	return good;
}

/* Checks that apply to every record type; the record is valid until free(*ret_copy). */
static bool decodes(const char *name, const struct record_format *f, const struct record_build *b,
		    struct record *r, void **ret_copy)
{
	bool ok = decode_copy(f, b, r, ret_copy) == RECORD_OK;
	uint64_t time_ns = 0;
	bool timed = record_peek_time(f, *ret_copy, b->n_bytes, &time_ns);
	int n_ok;
	tap_ok(ok, "%s: decodes", name);
	tap_ok(ok && timed == r->has_time && time_ns == r->time_ns, "%s: time peeked", name);
	tap_ok(truncations_hold(f, b, &n_ok), "%s: truncations", name);
	return ok;
}

static bool has_trailer(const struct record *r)
{
	return r->has_time && r->time_ns == 1300 && r->id == 14 && r->stream_id == 15 &&
	       r->cpu == 16 && r->event == RECORD_NO_EVENT;
}

static void test_comm(void)
{
	struct record_format f = record_build_format();
	static const char *const names[] = { "", "a", "sevenby", "eightbyt", "fifteen-letters" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct record_build b = { 0 };
		struct record r;
		void *copy;
		record_build_comm(&b, &at, names[i], i & 1);
		if (decodes("COMM", &f, &b, &r, &copy)) {
			tap_str(r.comm.comm, names[i], "COMM: name");
			tap_ok(r.comm.exec == (i & 1) && r.pid == 11 && r.tid == 12 &&
			       has_trailer(&r), "COMM: fields");
		}
		free(copy);
		record_build_done(&b);
	}
}

static void test_comm_body_wins(void)
{
	struct record_format f = record_build_format();
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_begin(&b, PERF_RECORD_COMM, 0);
	record_build_u32s(&b, 100, 101);
	record_build_text(&b, "x");
	record_build_finish(&b, &at);
	if (decodes("COMM of another", &f, &b, &r, &copy))
		tap_ok(r.pid == 100 && r.tid == 101, "COMM: the pid in the body is used");
	free(copy);
	record_build_done(&b);
}

static void test_mmap(void)
{
	struct record_format f = record_build_format();
	for (int data = 0; data < 2; data++) {
		struct record_build b = { 0 };
		struct record r;
		void *copy;
		record_build_begin(&b, PERF_RECORD_MMAP, data ? PERF_RECORD_MISC_MMAP_DATA : 0);
		record_build_u32s(&b, 11, 12);
		record_build_u64(&b, 0x1000);
		record_build_u64(&b, 0x2000);
		record_build_u64(&b, 0x3000);
		record_build_text(&b, "/lib/x.so");
		record_build_finish(&b, &at);
		if (decodes("MMAP", &f, &b, &r, &copy)) {
			tap_str(r.mmap.filename, "/lib/x.so", "MMAP: name");
			tap_ok(r.mmap.start == 0x1000 && r.mmap.len == 0x2000 &&
			       r.mmap.pgoff == 0x3000 && has_trailer(&r), "MMAP: fields");
			tap_int(r.mmap.prot, data ? 0 : 4, "MMAP: executable unless data");
		}
		free(copy);
		record_build_done(&b);
	}
}

static void test_mmap2(void)
{
	struct record_format f = record_build_format();
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	struct record_mmap m = { .start = 0x1000,
				 .len = 0x2000,
				 .pgoff = 0x3000,
				 .maj = 8,
				 .min = 1,
				 .ino = 99,
				 .ino_generation = 3,
				 .prot = 5,
				 .flags = 2,
				 .filename = "/usr/bin/x" };
	record_build_mmap2(&b, &at, &m);
	if (decodes("MMAP2", &f, &b, &r, &copy))
		tap_ok(r.mmap.start == 0x1000 && r.mmap.len == 0x2000 && r.mmap.pgoff == 0x3000 &&
		       r.mmap.maj == 8 && r.mmap.min == 1 && r.mmap.ino == 99 &&
		       r.mmap.ino_generation == 3 && r.mmap.prot == 5 && r.mmap.flags == 2 &&
		       r.mmap.n_build_id == 0 && !strcmp(r.mmap.filename, "/usr/bin/x") &&
		       has_trailer(&r), "MMAP2: fields");
	free(copy);
	record_build_done(&b);

	m.n_build_id = 20;
	for (int i = 0; i < 20; i++)
		m.build_id[i] = (uint8_t)(0xa0 + i);
	record_build_mmap2(&b, &at, &m);
	if (decodes("MMAP2 with build id", &f, &b, &r, &copy))
		tap_ok(r.mmap.n_build_id == 20 && !memcmp(r.mmap.build_id, m.build_id, 20) &&
		       r.mmap.ino == 0 && r.mmap.maj == 0 && r.mmap.prot == 5 &&
		       !strcmp(r.mmap.filename, "/usr/bin/x"), "MMAP2: build id");
	free(copy);
	record_build_done(&b);

	m.n_build_id = 21;
	record_build_mmap2(&b, &at, &m);
	tap_int(decode_copy(&f, &b, &r, &copy), RECORD_BAD, "MMAP2: build id of 21 bytes");
	free(copy);
	record_build_done(&b);
}

static void test_tasks(void)
{
	struct record_format f = record_build_format(), bare = f;
	bare.sample_id_all = false;
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_fork(&b, &at, 21, 22);
	if (decodes("FORK", &f, &b, &r, &copy))
		tap_ok(r.pid == 11 && r.tid == 12 && r.fork.ppid == 21 && r.fork.ptid == 22 &&
		       r.fork.time_ns == 1300 && has_trailer(&r), "FORK: fields");
	free(copy);
	record_build_done(&b);
	record_build_exit(&b, &at, 21, 22);
	if (decodes("EXIT", &f, &b, &r, &copy))
		tap_ok(r.type == PERF_RECORD_EXIT && r.pid == 11 && r.tid == 12 &&
		       r.fork.ppid == 21 && r.fork.ptid == 22 && has_trailer(&r), "EXIT: fields");
	free(copy);
	record_build_done(&b);

	record_build_begin(&b, PERF_RECORD_FORK, 0);
	record_build_u32s(&b, 1, 2);
	record_build_u32s(&b, 3, 4);
	record_build_u64(&b, 555);
	record_build_end(&b);
	if (decodes("FORK without trailer", &bare, &b, &r, &copy))
		tap_ok(r.has_time && r.time_ns == 555 && r.pid == 1 && r.tid == 3 &&
		       r.cpu == UINT32_MAX && r.id == 0, "FORK: the time in the body is used");
	free(copy);
	record_build_done(&b);
}

static void test_lost_and_throttle(void)
{
	struct record_format f = record_build_format(), bare = f;
	bare.sample_id_all = false;
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_lost(&b, &at, 77);
	if (decodes("LOST", &f, &b, &r, &copy))
		tap_ok(r.lost.id == 14 && r.lost.n_lost == 77 && r.pid == 11 && has_trailer(&r),
		       "LOST: fields");
	free(copy);
	record_build_done(&b);

	record_build_begin(&b, PERF_RECORD_LOST_SAMPLES, 0);
	record_build_u64(&b, 78);
	record_build_finish(&b, &at);
	if (decodes("LOST_SAMPLES", &f, &b, &r, &copy))
		tap_ok(r.lost.id == 0 && r.lost.n_lost == 78 && has_trailer(&r),
		       "LOST_SAMPLES: fields");
	free(copy);
	record_build_done(&b);

	for (int on = 0; on < 2; on++) {
		record_build_throttle(&b, &at, on);
		if (decodes("THROTTLE", &f, &b, &r, &copy))
			tap_ok(r.type == (on ? 5u : 6u) && r.throttle.time_ns == 1300 &&
			       r.throttle.id == 14 && r.throttle.stream_id == 15 &&
			       has_trailer(&r), "THROTTLE: fields");
		free(copy);
		record_build_done(&b);
	}

	record_build_begin(&b, PERF_RECORD_THROTTLE, 0);
	record_build_u64(&b, 500);
	record_build_u64(&b, 501);
	record_build_u64(&b, 502);
	record_build_end(&b);
	if (decodes("THROTTLE without trailer", &bare, &b, &r, &copy))
		tap_ok(r.time_ns == 500 && r.id == 501 && r.stream_id == 502 && r.pid == 0,
		       "THROTTLE: the body is used");
	free(copy);
	record_build_done(&b);
}

static void test_switch(void)
{
	struct record_format f = record_build_format();
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_begin(&b, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT |
			   PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	record_build_finish(&b, &at);
	if (decodes("SWITCH", &f, &b, &r, &copy))
		tap_ok(r.context_switch.out && r.context_switch.preempt && r.pid == 11 &&
		       r.tid == 12 && has_trailer(&r), "SWITCH: fields from misc and trailer");
	free(copy);
	record_build_done(&b);

	record_build_begin(&b, PERF_RECORD_SWITCH_CPU_WIDE, 0);
	record_build_u32s(&b, 31, 32);
	record_build_finish(&b, &at);
	if (decodes("SWITCH_CPU_WIDE", &f, &b, &r, &copy))
		tap_ok(!r.context_switch.out && !r.context_switch.preempt &&
		       r.context_switch.other_pid == 31 && r.context_switch.other_tid == 32 &&
		       has_trailer(&r), "SWITCH_CPU_WIDE: fields");
	free(copy);
	record_build_done(&b);
}

static void test_others(void)
{
	struct record_format f = record_build_format();
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_begin(&b, PERF_RECORD_KSYMBOL, 0);
	record_build_u64(&b, 0xffffffffc0001000);
	uint32_t n_bytes = 0x123;
	uint16_t kinds[2] = { 1, 1 };
	record_build_bytes(&b, &n_bytes, 4);
	record_build_bytes(&b, kinds, 4);
	record_build_text(&b, "bpf_prog_x");
	record_build_finish(&b, &at);
	if (decodes("KSYMBOL", &f, &b, &r, &copy))
		tap_ok(r.ksymbol.vaddr == 0xffffffffc0001000 && r.ksymbol.n_bytes == 0x123 &&
		       r.ksymbol.ksym_type == 1 && r.ksymbol.flags == 1 &&
		       !strcmp(r.ksymbol.name, "bpf_prog_x") && has_trailer(&r), "KSYMBOL: fields");
	free(copy);
	record_build_done(&b);

	record_build_begin(&b, PERF_RECORD_CGROUP, 0);
	record_build_u64(&b, 4242);
	record_build_text(&b, "/user.slice");
	record_build_finish(&b, &at);
	if (decodes("CGROUP", &f, &b, &r, &copy))
		tap_ok(r.cgroup.id == 4242 && !strcmp(r.cgroup.path, "/user.slice") &&
		       has_trailer(&r), "CGROUP: fields");
	free(copy);
	record_build_done(&b);

	record_build_begin(&b, PERF_RECORD_AUX, 0);
	record_build_u64(&b, 1);
	record_build_u64(&b, 2);
	record_build_u64(&b, 3);
	record_build_finish(&b, &at);
	if (decodes("AUX", &f, &b, &r, &copy))
		tap_ok(r.aux.offset == 1 && r.aux.n_bytes == 2 && r.aux.flags == 3 &&
		       has_trailer(&r), "AUX: fields");
	free(copy);
	record_build_done(&b);
}

/* Writes a counter's values in the layout of read_format: the first counter has 50 to 54. */
static void build_read_values(struct record_build *b, uint64_t read_format, uint64_t n_group)
{
	uint64_t n = read_format & PERF_FORMAT_GROUP ? n_group : 1;
	if (read_format & PERF_FORMAT_GROUP)
		record_build_u64(b, n_group);
	else
		record_build_u64(b, 50);
	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		record_build_u64(b, 51);
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		record_build_u64(b, 52);
	for (uint64_t i = 0; i < n; i++) {
		if (read_format & PERF_FORMAT_GROUP)
			record_build_u64(b, 50 + 100 * i);
		if (read_format & PERF_FORMAT_ID)
			record_build_u64(b, 53 + 100 * i);
		if (read_format & 16)
			record_build_u64(b, 54 + 100 * i);
	}
}

static void test_read(void)
{
	int n_wrong = 0, n_broken = 0, n_empty_taken = 0;
	for (uint64_t rf = 0; rf < 32; rf++) {
		struct record_format f = record_build_format();
		f.read_format = rf;
		struct record_build b = { 0 };
		struct record r;
		void *copy;
		int n_ok;
		record_build_begin(&b, PERF_RECORD_READ, 0);
		record_build_u32s(&b, 61, 62);
		build_read_values(&b, rf, 3);
		record_build_finish(&b, &at);
		bool ok = decode_copy(&f, &b, &r, &copy) == RECORD_OK && has_trailer(&r) &&
			  r.pid == 61 && r.read.pid == 61 && r.read.tid == 62 &&
			  r.read.value == 50 &&
			  r.read.time_enabled_ns == (rf & 1 ? 51u : 0) &&
			  r.read.time_running_ns == (rf & 2 ? 52u : 0) &&
			  r.read.id == (rf & 4 ? 53u : 0) && r.read.lost == (rf & 16 ? 54u : 0);
		n_wrong += !ok;
		n_broken += !truncations_hold(&f, &b, &n_ok);
		free(copy);
		record_build_done(&b);
		if (!(rf & PERF_FORMAT_GROUP))
			continue;
		record_build_begin(&b, PERF_RECORD_READ, 0);
		record_build_u32s(&b, 61, 62);
		build_read_values(&b, rf, 0);
		record_build_finish(&b, &at);
		n_empty_taken += decode_copy(&f, &b, &r, &copy) != RECORD_BAD;
		free(copy);
		record_build_done(&b);
	}
	tap_int(n_wrong, 0, "READ: all 32 read formats");
	tap_int(n_broken, 0, "READ: truncations of all read formats");
	tap_int(n_empty_taken, 0, "READ: an empty group is rejected");
}

/* ---- samples ----------------------------------------------------------------- */

#define N_CHAIN 5
#define REGS_USER 0x8fu /* 5 registers */
#define REGS_INTR 0x3u

/* The sizes of the optional parts of a sample. */
struct shape {
	uint64_t n_chain, n_branches, n_group, user_abi, intr_abi, stack_size, stack_copied, n_aux;
	uint32_t n_raw_bytes; /* 4 less than a multiple of 8 */
};

static const struct shape full = {
	.n_chain = N_CHAIN, .n_branches = 2, .n_group = 2, .user_abi = 2, .intr_abi = 2,
	.stack_size = 64, .stack_copied = 40, .n_aux = 16, .n_raw_bytes = 12,
};
static const struct shape empty = { .n_group = 1, .n_raw_bytes = 4 };

static void build_many(struct record_build *b, uint64_t n, uint64_t first)
{
	for (uint64_t i = 0; i < n; i++)
		record_build_u64(b, first + i);
}

static void build_sample(struct record_build *b, const struct record_format *f,
			 const struct shape *s)
{
	uint64_t t = f->sample_type;
	record_build_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	if (t & PERF_SAMPLE_IDENTIFIER)
		record_build_u64(b, at.id);
	if (t & PERF_SAMPLE_IP)
		record_build_u64(b, 0x401000);
	if (t & PERF_SAMPLE_TID)
		record_build_u32s(b, at.pid, at.tid);
	if (t & PERF_SAMPLE_TIME)
		record_build_u64(b, at.time_ns);
	if (t & PERF_SAMPLE_ADDR)
		record_build_u64(b, 0xadd);
	if (t & PERF_SAMPLE_ID)
		record_build_u64(b, at.id);
	if (t & PERF_SAMPLE_STREAM_ID)
		record_build_u64(b, at.stream_id);
	if (t & PERF_SAMPLE_CPU)
		record_build_u32s(b, at.cpu, 0xdead);
	if (t & PERF_SAMPLE_PERIOD)
		record_build_u64(b, 1000003);
	if (t & PERF_SAMPLE_READ)
		build_read_values(b, f->read_format, s->n_group);
	if (t & PERF_SAMPLE_CALLCHAIN) {
		record_build_u64(b, s->n_chain);
		build_many(b, s->n_chain, 0xc0);
	}
	if (t & PERF_SAMPLE_RAW) {
		record_build_bytes(b, &s->n_raw_bytes, 4);
		for (uint32_t i = 0; i < s->n_raw_bytes; i++)
			record_build_bytes(b, "R", 1);
	}
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		record_build_u64(b, s->n_branches);
		if (f->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			record_build_u64(b, 0x1dc);
		build_many(b, 3 * s->n_branches, 0xb0);
		if (f->branch_sample_type & 1 << 19)
			build_many(b, s->n_branches, 0xbc);
	}
	if (t & PERF_SAMPLE_REGS_USER) {
		record_build_u64(b, s->user_abi);
		if (s->user_abi)
			build_many(b, (uint64_t)__builtin_popcountll(f->sample_regs_user), 0xe0);
	}
	if (t & PERF_SAMPLE_STACK_USER) {
		record_build_u64(b, s->stack_size);
		for (uint64_t i = 0; i < s->stack_size; i++)
			record_build_bytes(b, "S", 1);
		if (s->stack_size)
			record_build_u64(b, s->stack_copied);
	}
	if (t & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		record_build_u64(b, 0x700000009);
	if (t & PERF_SAMPLE_DATA_SRC)
		record_build_u64(b, 0xd5);
	if (t & PERF_SAMPLE_TRANSACTION)
		record_build_u64(b, 0x7a);
	if (t & PERF_SAMPLE_REGS_INTR) {
		record_build_u64(b, s->intr_abi);
		if (s->intr_abi)
			build_many(b, (uint64_t)__builtin_popcountll(f->sample_regs_intr), 0xf0);
	}
	if (t & PERF_SAMPLE_PHYS_ADDR)
		record_build_u64(b, 0xfa);
	if (t & PERF_SAMPLE_CGROUP)
		record_build_u64(b, 0xc9);
	if (t & PERF_SAMPLE_DATA_PAGE_SIZE)
		record_build_u64(b, 4096);
	if (t & PERF_SAMPLE_CODE_PAGE_SIZE)
		record_build_u64(b, 8192);
	if (t & PERF_SAMPLE_AUX) {
		record_build_u64(b, s->n_aux);
		build_many(b, s->n_aux / 8, 0xaa);
	}
	record_build_end(b);
}

/* Is r what build_sample wrote, with empty fields for those that are not in the format? */
static bool is_sample(const struct record *r, const struct record_format *f, const struct shape *x)
{
	uint64_t t = f->sample_type;
	const struct record_sample *s = &r->sample;
	bool ok = r->type == PERF_RECORD_SAMPLE && r->event == RECORD_NO_EVENT &&
		  r->misc == PERF_RECORD_MISC_USER;
	ok &= r->id == (t & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? at.id : 0);
	ok &= s->ip == (t & PERF_SAMPLE_IP ? 0x401000u : 0);
	ok &= r->pid == (t & PERF_SAMPLE_TID ? at.pid : 0);
	ok &= r->tid == (t & PERF_SAMPLE_TID ? at.tid : 0);
	ok &= r->has_time == !!(t & PERF_SAMPLE_TIME);
	ok &= r->time_ns == (t & PERF_SAMPLE_TIME ? at.time_ns : 0);
	ok &= s->addr == (t & PERF_SAMPLE_ADDR ? 0xaddu : 0);
	ok &= r->stream_id == (t & PERF_SAMPLE_STREAM_ID ? at.stream_id : 0);
	ok &= r->cpu == (t & PERF_SAMPLE_CPU ? at.cpu : UINT32_MAX);
	ok &= s->period == (t & PERF_SAMPLE_PERIOD ? 1000003u : 0);
	if (t & PERF_SAMPLE_CALLCHAIN) {
		ok &= s->n_callchain == x->n_chain;
		for (uint64_t i = 0; i < s->n_callchain; i++)
			ok &= s->callchain[i] == 0xc0 + i;
	} else {
		ok &= s->n_callchain == 0 && !s->callchain;
	}
	if (t & PERF_SAMPLE_RAW) {
		ok &= s->n_raw_bytes == x->n_raw_bytes;
		for (uint32_t i = 0; i < s->n_raw_bytes; i++)
			ok &= ((const char *)s->raw)[i] == 'R';
	} else {
		ok &= !s->raw && !s->n_raw_bytes;
	}
	if (t & PERF_SAMPLE_BRANCH_STACK) {
		ok &= s->n_branches == x->n_branches;
		for (uint64_t i = 0; i < 3 * s->n_branches; i++)
			ok &= ((const uint64_t *)s->branches)[i] == 0xb0 + i;
	} else {
		ok &= s->n_branches == 0 && !s->branches;
	}
	if (t & PERF_SAMPLE_REGS_USER && x->user_abi) {
		ok &= s->user_abi == x->user_abi && s->user_regs_mask == f->sample_regs_user;
		for (int i = 0; i < __builtin_popcountll(f->sample_regs_user); i++)
			ok &= s->user_regs[i] == 0xe0u + (unsigned)i;
	} else {
		ok &= s->user_abi == 0 && !s->user_regs;
	}
	if (t & PERF_SAMPLE_STACK_USER && x->stack_size) {
		ok &= s->user_stack_size == x->stack_size;
		ok &= s->n_user_stack_bytes == x->stack_copied;
		for (uint64_t i = 0; i < s->n_user_stack_bytes; i++)
			ok &= s->user_stack[i] == 'S';
	} else {
		ok &= !s->user_stack && !s->n_user_stack_bytes && !s->user_stack_size;
	}
	ok &= s->weight == (t & PERF_SAMPLE_WEIGHT ? 0x700000009u :
			    t & PERF_SAMPLE_WEIGHT_STRUCT ? 9u : 0);
	ok &= s->data_src == (t & PERF_SAMPLE_DATA_SRC ? 0xd5u : 0);
	ok &= s->transaction == (t & PERF_SAMPLE_TRANSACTION ? 0x7au : 0);
	ok &= s->phys_addr == (t & PERF_SAMPLE_PHYS_ADDR ? 0xfau : 0);
	ok &= s->cgroup == (t & PERF_SAMPLE_CGROUP ? 0xc9u : 0);
	ok &= s->data_page_size == (t & PERF_SAMPLE_DATA_PAGE_SIZE ? 4096u : 0);
	ok &= s->code_page_size == (t & PERF_SAMPLE_CODE_PAGE_SIZE ? 8192u : 0);
	return ok;
}

static bool sample_holds(uint64_t sample_type, uint64_t read_format, uint64_t branch_type,
			 const struct shape *s)
{
	struct record_format f = {
		.sample_type = sample_type, .read_format = read_format,
		.branch_sample_type = branch_type, .sample_regs_user = REGS_USER,
		.sample_regs_intr = REGS_INTR,
	};
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	int n_ok;
	build_sample(&b, &f, s);
	bool ok = decode_copy(&f, &b, &r, &copy) == RECORD_OK && is_sample(&r, &f, s);
	uint64_t time_ns = 0;
	ok &= record_peek_time(&f, copy, b.n_bytes, &time_ns) == !!(sample_type & PERF_SAMPLE_TIME);
	ok &= time_ns == (sample_type & PERF_SAMPLE_TIME ? at.time_ns : 0);
/* A sample needs all its bytes: shorter ones are rejected. */
	ok &= truncations_hold(&f, &b, &n_ok) && n_ok == 0;
	free(copy);
	record_build_done(&b);
	return ok;
}

static void test_samples(void)
{
	const uint64_t all_types = (UINT64_C(1) << 25) - 1;
	const uint64_t hw_index = PERF_SAMPLE_BRANCH_HW_INDEX, counters = 1u << 19;
	for (int bit = 0; bit < 25; bit++)
		tap_ok(sample_holds(UINT64_C(1) << bit, 0, 0, &full) &&
		       sample_holds(UINT64_C(1) << bit, 0, 0, &empty),
		       "SAMPLE: sample_type bit %d alone", bit);
	int n_wrong = 0;
	for (uint64_t rf = 0; rf < 32; rf++)
		n_wrong += !sample_holds(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN, rf, 0, &full);
	tap_int(n_wrong, 0, "SAMPLE: all read formats");
	tap_ok(sample_holds(RECORD_BUILD_SAMPLE_TYPE, 0, 0, &full), "SAMPLE: cprof's own format");
	for (uint64_t bt = 0; bt < 4; bt++) {
		uint64_t branch_type = (bt & 1 ? hw_index : 0) | (bt & 2 ? counters : 0);
		tap_ok(sample_holds(all_types, 31, branch_type, &full) &&
		       sample_holds(all_types, 0, branch_type, &empty),
		       "SAMPLE: all fields, branch type %d", (int)bt);
	}
	n_wrong = 0;
	uint64_t seed = 42;
	for (int i = 0; i < 1000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t type = (seed >> 20) & all_types;
		uint64_t branch_type =
			(seed >> 45 & 1 ? hw_index : 0) | (seed >> 46 & 1 ? counters : 0);
		n_wrong += !sample_holds(type, seed >> 50 & 31, branch_type,
					 seed >> 47 & 1 ? &full : &empty);
	}
	tap_int(n_wrong, 0, "SAMPLE: 1000 random formats");
}

static void is_bad_sample(uint64_t sample_type, const struct shape *s, const char *name)
{
	struct record_format f = { .sample_type = sample_type, .sample_regs_user = REGS_USER };
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	build_sample(&b, &f, s);
	tap_int(decode_copy(&f, &b, &r, &copy), RECORD_BAD, name);
	free(copy);
	record_build_done(&b);
}

/* A sample whose first word, a count, is too large for the record. */
static void is_bad_count(uint64_t sample_type, uint64_t read_format, uint64_t count,
			 const char *name)
{
	struct record_format f = { .sample_type = sample_type, .read_format = read_format };
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	record_build_begin(&b, PERF_RECORD_SAMPLE, 0);
	record_build_u64(&b, count);
	build_many(&b, 4, 1);
	record_build_end(&b);
	tap_int(decode_copy(&f, &b, &r, &copy), RECORD_BAD, name);
	free(copy);
	record_build_done(&b);
}

static void test_bad_samples(void)
{
	is_bad_sample(PERF_SAMPLE_STACK_USER,
		      &(struct shape){ .stack_size = 64, .stack_copied = 65 },
		      "SAMPLE: more stack copied than requested");
	is_bad_sample(PERF_SAMPLE_STACK_USER,
		      &(struct shape){ .stack_size = 64, .stack_copied = UINT64_MAX },
		      "SAMPLE: 2^64 - 1 bytes of stack copied");
	is_bad_sample(PERF_SAMPLE_RAW, &(struct shape){ .n_raw_bytes = 8 },
		      "SAMPLE: raw data without padding");
	static const uint64_t counts[] = { 5, 6, UINT64_MAX, UINT64_C(1) << 61, UINT64_MAX / 3 + 1,
					   UINT64_MAX / 24 + 2 };
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		is_bad_count(PERF_SAMPLE_CALLCHAIN, 0, counts[i], "SAMPLE: call chain too long");
		is_bad_count(PERF_SAMPLE_BRANCH_STACK, 0, counts[i], "SAMPLE: too many branches");
		is_bad_count(PERF_SAMPLE_READ, 31, counts[i], "SAMPLE: group too large");
		is_bad_count(PERF_SAMPLE_STACK_USER, 0, counts[i] > 99 ? counts[i] & ~7ull : 40,
			     "SAMPLE: stack too large");
		is_bad_count(PERF_SAMPLE_AUX, 0, (counts[i] << 3) + 1, "SAMPLE: AUX too large");
	}
	is_bad_count(PERF_SAMPLE_RAW, 0, UINT32_MAX, "SAMPLE: raw data too large");
	is_bad_count(PERF_SAMPLE_RAW, 0, UINT32_MAX - 3, "SAMPLE: raw data too large");
	is_bad_count(PERF_SAMPLE_AUX, 0, 7, "SAMPLE: AUX of 7 bytes");
	is_bad_count(PERF_SAMPLE_STACK_USER, 0, 7, "SAMPLE: stack of 7 bytes");
}

static void test_longer_sample(void)
{
	struct record_format f = record_build_format();
	struct record_build b = { 0 };
	struct record r;
	void *copy;
	build_sample(&b, &f, &full);
	record_build_u64(&b, 1);
	record_build_end(&b);
	tap_ok(decode_copy(&f, &b, &r, &copy) == RECORD_OK && is_sample(&r, &f, &full),
	       "SAMPLE: new fields at its end are skipped");
	free(copy);
	record_build_done(&b);
}

/* ---- headers, strings, types ---------------------------------------------------- */

static void test_headers(void)
{
	struct record_format f = record_build_format();
	struct record r;
	uint64_t time_ns;
	uint64_t words[8] = { 0 };
	struct perf_event_header *h = (struct perf_event_header *)words;
	static const uint16_t sizes[] = { 0, 1, 7, 9, 12, 63, 65, 72, 65535 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		*h = (struct perf_event_header){ .type = PERF_RECORD_COMM, .size = sizes[i] };
		tap_ok(record_decode(&f, words, sizeof(words), &r) == RECORD_BAD &&
		       !record_peek_time(&f, words, sizeof(words), &time_ns),
		       "a size of %u in 64 bytes", sizes[i]);
	}
	h->size = 64;
	for (uint32_t type = 0; type < 200; type++) {
		h->type = type;
		bool known = (type >= 1 && type <= 11) || (type >= 13 && type <= 15) ||
			     type == 17 || type == 19;
		enum record_outcome o = record_decode(&f, words, sizeof(words), &r);
		if (known ? o == RECORD_UNKNOWN : o != RECORD_UNKNOWN)
			tap_ok(false, "type %u is %s", type, known ? "known" : "unknown");
		if (type >= 64 && record_peek_time(&f, words, sizeof(words), &time_ns))
			tap_ok(false, "type %u of a tool has no trailer", type);
	}
	tap_ok(true, "types are known, unknown, or of tools");
	tap_str(record_type_name(PERF_RECORD_SAMPLE), "SAMPLE", "name of a type");
	tap_str(record_type_name(PERF_RECORD_MMAP2), "MMAP2", "name of another type");
	tap_str(record_type_name(0), "?", "no type 0");
	tap_str(record_type_name(22), "?", "a type past the table");
	tap_str(record_type_name(UINT32_MAX), "?", "a type far past the table");
}

static void test_endless_strings(void)
{
	struct record_format f = record_build_format();
	static const struct { uint32_t type; unsigned n_words; } bodies[] = {
		{ PERF_RECORD_COMM, 1 }, { PERF_RECORD_MMAP, 4 }, { PERF_RECORD_MMAP2, 8 },
		{ PERF_RECORD_KSYMBOL, 2 }, { PERF_RECORD_CGROUP, 1 },
	};
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct record_build b = { 0 };
		struct record r;
		void *copy;
		record_build_begin(&b, bodies[i].type, 0);
		build_many(&b, bodies[i].n_words, 0);
		record_build_bytes(&b, "no NUL..", 8);
	/* The trailer has zeros: the search must not reach it. */
		record_build_finish(&b, &at);
		tap_ok(decode_copy(&f, &b, &r, &copy) == RECORD_BAD, "%s: an unterminated string",
		       record_type_name(bodies[i].type));
		free(copy);
		record_build_done(&b);

		record_build_begin(&b, bodies[i].type, 0);
		build_many(&b, bodies[i].n_words, 0);
		record_build_finish(&b, &at);
		tap_ok(decode_copy(&f, &b, &r, &copy) == RECORD_BAD, "%s: no string at all",
		       record_type_name(bodies[i].type));
		free(copy);
		record_build_done(&b);
	}
}

/* Every combination of the trailer's fields. */
static void test_trailers(void)
{
	static const uint64_t bits[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
					 PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
					 PERF_SAMPLE_IDENTIFIER };
	int n_wrong = 0;
	for (unsigned set = 0; set < 64; set++) {
		struct record_format f = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
					   .sample_id_all = true };
		for (int i = 0; i < 6; i++)
			f.sample_type |= set >> i & 1 ? bits[i] : 0;
		struct record_build b = { 0 };
		struct record r;
		void *copy;
		int n_ok;
		record_build_begin(&b, PERF_RECORD_SWITCH, 0);
		record_build_trailer(&b, f.sample_type, &at);
		record_build_end(&b);
		uint64_t time_ns = 0;
		bool timed = set & 2;
		bool ok = decode_copy(&f, &b, &r, &copy) == RECORD_OK &&
			  r.pid == (set & 1 ? 11u : 0) && r.tid == (set & 1 ? 12u : 0) &&
			  r.has_time == timed && r.time_ns == (timed ? 1300u : 0) &&
			  r.id == (set & 36 ? 14u : 0) && r.stream_id == (set & 8 ? 15u : 0) &&
			  r.cpu == (set & 16 ? 16u : UINT32_MAX) &&
			  record_peek_time(&f, copy, b.n_bytes, &time_ns) == timed &&
			  time_ns == r.time_ns && truncations_hold(&f, &b, &n_ok) && n_ok == 0;
		n_wrong += !ok;
		free(copy);
		record_build_done(&b);
	}
	tap_int(n_wrong, 0, "all 64 shapes of the trailer");
}

int main(void)
{
	test_comm();
	test_comm_body_wins();
	test_mmap();
	test_mmap2();
	test_tasks();
	test_lost_and_throttle();
	test_switch();
	test_others();
	test_read();
	test_samples();
	test_bad_samples();
	test_longer_sample();
	test_headers();
	test_endless_strings();
	test_trailers();
	return tap_done();
}
