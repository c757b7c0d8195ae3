#include "tests/tools/replay.h"

#include "base/err.h"
#include "source/record-build.h"
#include "tap.h"

#include <errno.h>

static const struct replay_event events[] = {
	{ .name = "cycles", .id = 700, .event = 0 },
	{ .name = "cycles", .id = 100, .event = 0 },
	{ .name = "cpu-clock", .id = 500, .event = 1, .is_clock = 1 },
};

static const struct source_facts facts = {
	.kernel_release = "6.1.0-test", .arch = "x86_64", .hostname = "box", .n_cpus = 3,
};

/* A stream: its header by replay_write_header, then the records of b.  The caller frees it. */
static void *make_stream(const struct record_build *b, size_t *ret_n)
{
	struct record_format format = record_build_format();
	struct err e = { 0 };
	char *data = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&data, &n);
	if (!f || replay_write_header(f, &format, &facts, events, 3, &e) < 0)
		abort();
	if (b->n_bytes)
		fwrite(b->v, 1, b->n_bytes, f);
	fclose(f);
	*ret_n = n;
	return data;
}

static void build_records(struct record_build *b)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
	struct record_build_id id = { .pid = 1, .tid = 2, .time_ns = 10, .id = 900 };
	record_build_comm(b, &id, "prog", true);
	id.id = 500;
	id.time_ns = 30;
	record_build_sample(b, &id, PERF_RECORD_MISC_USER, 0x401000, 1, chain, 3);
	record_build_begin(b, PERF_RECORD_ITRACE_START, 0);
	record_build_finish(b, &id);
	record_build_begin(b, PERF_RECORD_COMM, 0); /* too short */
	record_build_end(b);
	id.id = 100;
	id.time_ns = 20;
	record_build_sample(b, &id, PERF_RECORD_MISC_USER, 0x401000, 2, chain, 3);
	id.id = 700;
	id.time_ns = 40;
	record_build_lost(b, &id, 5);
}

static void test_good(void)
{
	struct record_build b = { 0 };
	build_records(&b);
	size_t n;
	void *data = make_stream(&b, &n);
	struct source *s = NULL;
	struct err e = { 0 };
	struct record r;
	if (!tap_int(replay_open_memory(data, n, &s, &e), 0, "a stream opens"))
		exit(1);
	tap_str(s->facts.kernel_release, "6.1.0-test", "kernel");
	tap_str(s->facts.arch, "x86_64", "architecture");
	tap_str(s->facts.hostname, "box", "the host name");
	tap_ok(s->facts.n_cpus == 3 && !s->facts.running_kernel, "other facts");
	uint32_t n_events = 0;
	const struct replay_event *got = replay_events(s, &n_events);
	tap_ok(n_events == 3 && !memcmp(got, events, sizeof(events)), "events");
	tap_ok(source_next(s, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_COMM &&
	       !strcmp(r.comm.comm, "prog") && r.event == RECORD_NO_EVENT,
	       "a record of an event that is not listed");
	tap_ok(source_next(s, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_SAMPLE &&
	       r.event == 1 && r.time_ns == 30 && r.sample.n_callchain == 3, "a sample");
	tap_ok(source_next(s, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_SAMPLE &&
	       r.event == 0 && r.time_ns == 20, "a late sample");
	tap_ok(source_next(s, &r, &e) == SOURCE_RECORD && r.type == PERF_RECORD_LOST &&
	       r.event == 0 && r.lost.n_lost == 5, "a loss");
	tap_ok(source_next(s, &r, &e) == SOURCE_END && source_next(s, &r, &e) == SOURCE_END,
	       "the end, again and again");
	tap_ok(s->losses.n_unknown == 1 && s->losses.n_undecodable == 1 &&
	       s->losses.n_out_of_order == 1, "one unknown, one bad, one late");
	source_close(s);
	free(data);
	record_build_done(&b);
}

/* Opens a stream whose header or events were changed; returns whether it was refused like this. */
static void is_refused(void (*change)(struct replay_header *h, struct replay_event *v),
		       const char *want)
{
	struct record_build b = { 0 };
	size_t n;
	void *data = make_stream(&b, &n);
	struct replay_header *h = data;
	change(h, (struct replay_event *)(h + 1));
	struct source *s = NULL;
	struct err e = { 0 };
	int code = replay_open_memory(data, n, &s, &e);
	tap_ok(code == -EINVAL && !s, "refused: %s", want);
	tap_str(e.what, want, "and why");
	if (code == 0)
		source_close(s);
	free(data);
}

static void magic(struct replay_header *h, struct replay_event *v)
{
	h->magic[7] = 'x';
}

static void version(struct replay_header *h, struct replay_event *v)
{
	h->version = 2;
}

static void swapped(struct replay_header *h, struct replay_event *v)
{
	h->version = 1u << 24;
}

static void four(struct replay_header *h, struct replay_event *v)
{
	h->n_events = 4;
}

static void billions(struct replay_header *h, struct replay_event *v)
{
	h->n_events = UINT32_MAX;
}

static void id_all(struct replay_header *h, struct replay_event *v)
{
	h->sample_id_all = 2;
}

static void release(struct replay_header *h, struct replay_event *v)
{
	memset(h->kernel_release, 'a', 64);
}

static void arch(struct replay_header *h, struct replay_event *v)
{
	memset(h->arch, 'a', 64);
}

static void host(struct replay_header *h, struct replay_event *v)
{
	memset(h->hostname, 'a', 64);
}

static void name(struct replay_header *h, struct replay_event *v)
{
	memset(v[2].name, 'a', 64);
}

static void event_index(struct replay_header *h, struct replay_event *v)
{
	v[1].event = 3;
}

static void clock_flag(struct replay_header *h, struct replay_event *v)
{
	v[1].is_clock = 7;
}

static void same_id(struct replay_header *h, struct replay_event *v)
{
	v[1].id = v[2].id;
}

static void test_hostile(void)
{
	is_refused(magic, "not a saved stream of records");
	is_refused(version, "the saved stream has version 2, not 1");
	is_refused(swapped, "the saved stream is of a machine with the other byte order");
	is_refused(four, "the saved stream claims 4 events, more than it can hold");
	is_refused(billions, "the saved stream claims 4294967295 events, more than it can hold");
	is_refused(id_all, "the saved stream's sample_id_all is 2, not 0 or 1");
	is_refused(release, "a name in the saved stream's header has no end");
	is_refused(arch, "a name in the saved stream's header has no end");
	is_refused(host, "a name in the saved stream's header has no end");
	is_refused(name, "the saved stream's event 2 has a name without end");
	is_refused(event_index, "the saved stream's event 1 has index 3 of 3");
	is_refused(clock_flag, "the saved stream's event 1 has is_clock 7");
	is_refused(same_id, "two events of the saved stream have id 500");
}

/* Every truncation: refused at once, or all records before the end and then the failure. */
static void test_truncations(void)
{
	struct record_build b = { 0 };
	build_records(&b);
	size_t n_all;
	uint8_t *data = make_stream(&b, &n_all);
	size_t n_head = n_all - b.n_bytes;
	int n_wrong = 0;
	for (size_t n = 0; n < n_all; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		memcpy(copy, data, n);
		struct source *s = NULL;
		struct err e = { 0 };
		struct record r;
		int code = replay_open_memory(copy, n, &s, &e);
		if (n < n_head) {
			n_wrong += code != -EINVAL || !e.what[0];
		} else if (code < 0) {
			n_wrong++;
		} else {
			int got, n_records = 0;
			while ((got = source_next(s, &r, &e)) == SOURCE_RECORD)
				n_records++;
/* A truncation between two records cannot be distinguished from the end. */
			bool between = got == SOURCE_END && n % 8 == 0;
			n_wrong += !between && got != -EINVAL;
			n_wrong += !between && source_next(s, &r, &e) != -EINVAL;
			n_wrong += n_records > 3;
			source_close(s);
		}
		free(copy);
	}
	tap_int(n_wrong, 0, "truncations");
	free(data);
	record_build_done(&b);
}

static void test_bad_sizes(void)
{
	static const struct { uint16_t size; const char *want;
	} bad[] = {
		{ 0,
		  "cannot read the saved stream: a record is smaller than its header at byte 496" },
		{ 7,
		  "cannot read the saved stream: a record is smaller than its header at byte 496" },
		{ 65535, "cannot read the saved stream: it ends within a record at byte 496" },
	};
	for (size_t i = 0; i < 3; i++) {
		struct record_build b = { 0 };
		build_records(&b);
		size_t n;
		uint8_t *data = make_stream(&b, &n);
		((struct perf_event_header *)(data + n - b.n_bytes))->size = bad[i].size;
		struct source *s = NULL;
		struct err e = { 0 };
		struct record r;
		replay_open_memory(data, n, &s, &e);
		tap_int(source_next(s, &r, &e), -EINVAL, "an impossible size");
		tap_str(e.what, bad[i].want, "and where");
		source_close(s);
		free(data);
		record_build_done(&b);
	}
}

static void test_edges(void)
{
	struct record_build b = { 0 };
	size_t n;
	char *data = make_stream(&b, &n);
	char *moved = malloc(n + 4);
	memcpy(moved + 4, data, n);
	struct source *s = NULL;
	struct err e = { 0 };
	struct record r;
	tap_int(replay_open_memory(moved + 4, n, &s, &e), -EINVAL, "not aligned");
	tap_str(e.what, "the saved stream is not aligned to 8 bytes", "and why");
	replay_open_memory(data, n, &s, &e);
	tap_int(source_next(s, &r, &e), SOURCE_END, "a stream without records");
	source_close(s);
	source_close(NULL);
	free(moved);
	free(data);
	FILE *full = fopen("/dev/full", "w");
	if (!full) {
		tap_skip("a full disk", "no /dev/full");
		return;
	}
	setvbuf(full, NULL, _IONBF, 0);
	struct record_format format = record_build_format();
	tap_int(replay_write_header(full, &format, &facts, events, 3, &e), -ENOSPC, "a full disk");
	tap_str(e.what, "cannot write the saved stream: No space left on device", "and why");
	fclose(full);
}

int main(void)
{
	test_good();
	test_hostile();
	test_truncations();
	test_bad_sizes();
	test_edges();
	return tap_done();
}
