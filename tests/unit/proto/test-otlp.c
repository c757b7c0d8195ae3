#include "base/err.h"
#include "proto/otlp-table.h"
#include "proto/otlp.h"
#include "proto/pprof.h"
#include "proto/wire.h"
#include "sink.h"
#include "tap.h"

#include <stdlib.h>

static const struct otlp_attribute service[] = { { "service.name", "shop" } };
static const struct otlp_resource resource = { service, 1, { 1, 2, 3 } };

/* Two samples with one stack: main in a file with a build id, and a frame of the kernel. */
static void write_profile(struct sink *to)
{
	struct pprof *p;
	struct err e = { 0 };
	pprof_new(sink_write, to, 1, &p, &e);
	pprof_sample_type(p, "samples", "count");
	pprof_sample_type(p, "cpu", "nanoseconds");
	pprof_period(p, "cpu", "nanoseconds", 1000);
	pprof_times(p, 1700000000000000000, 10000000000);
	struct pprof_mapping file = { 0x1000, 0x2000, 0, "/bin/shop", "abcd", true, 0, 0, 0 };
	struct pprof_mapping kernel = { .filename = "[kernel.kallsyms]" };
	uint64_t m = pprof_mapping(p, &file), k = pprof_mapping(p, &kernel);
	struct pprof_function f = { "main\xff", "_main", "shop.c", 3 };
	struct pprof_line line = { pprof_function(p, &f), 7, 0 };
	uint64_t id[2] = { pprof_location(p, k, 0xffff, NULL, 0, false),
			   pprof_location(p, m, 0x1010, &line, 1, false) };
	const struct pprof_label label[] = {
		{ .key = "pid", .str = "42" }, { .key = "thread_name", .str = "worker" },
		{ .key = "bytes", .num = 5, .num_unit = "bytes" },
	};
	pprof_sample(p, id, 2, (int64_t[]){ 2, 2000 }, 2, label, 3);
	pprof_sample(p, id, 2, (int64_t[]){ 0, 500 }, 2, NULL, 0);
	tap_int(pprof_finish(p, &e), 0, "the profile is written");
	pprof_free(p);
}

/* The nth field with this number. */
static bool get(struct bytes b, unsigned int number, unsigned int nth, struct wire_field *ret)
{
	while (wire_next(&b, ret) == 1)
		if (ret->number == number && nth-- == 0)
			return true;
	return false;
}

static unsigned int count(struct bytes b, unsigned int number)
{
	struct wire_field f;
	unsigned int n = 0;
	while (wire_next(&b, &f) == 1)
		n += f.number == number;
	return n;
}

static bool has_text(struct bytes b, const char *text)
{
	return memmem(b.p, bytes_left(&b), text, strlen(text)) != NULL;
}

static void test_request(void)
{
	struct sink s = { .fail_after = 0 };
	struct wire w = { 0 };
	struct err e = { 0 };
	struct wire_field f, profile, sample;
	write_profile(&s);
	struct otlp *o = otlp_new();
	tap_int(otlp_add(o, s.bytes.v, s.bytes.n, 1 << 20, &resource, &e), 0, "a profile is added");
	tap_int(otlp_add(o, s.bytes.v, s.bytes.n, 1 << 20, &resource, &e), 0, "and again");
	tap_int(otlp_finish(o, &w, &e), 0, "the request is written");
	struct bytes request = bytes_of(w.p, w.n);
	tap_int(count(request, 1), 2, "two resources");
	bool ok = get(request, 1, 1, &f);
	tap_ok(ok && has_text(f.body, "service.name"), "with attributes");
	ok = ok && get(f.body, 2, 0, &f);
	tap_int(ok ? count(f.body, 2) : 0, 2, "a profile for each sample type");
	tap_ok(ok && get(f.body, 2, 1, &profile) && count(profile.body, 2) == 2,
	       "both samples have CPU time");
	tap_ok(get(f.body, 2, 0, &sample) && count(sample.body, 2) == 1,
	       "one of them has a number");
	ok = get(profile.body, 3, 0, &f) && f.type == WIRE_FIXED64;
	tap_ok(ok && f.value == 1700000000000000000, "the time has eight bytes");
	tap_ok(get(profile.body, 7, 0, &f) && bytes_left(&f.body) == OTLP_ID_BYTES, "an id");
	tap_ok(get(profile.body, 2, 0, &sample) && get(sample.body, 1, 0, &f) && f.value == 1,
	       "the first stack is number 1");
	ok = get(request, 2, 0, &f);
	static const unsigned int n_entries[] = { 0, 3, 3, 2, 1, 0, 0, 2 };
	for (unsigned int i = 1; i <= 7 && ok; i++) {
		struct wire_field first;
		tap_ok(get(f.body, i, 0, &first) && bytes_left(&first.body) == 0,
		       "table %u begins with its zero value", i);
		if (n_entries[i])
			tap_int(count(f.body, i), n_entries[i], "equal entries are one");
	}
	tap_ok(ok && has_text(f.body, "process.pid") && has_text(f.body, "thread.name") &&
	       has_text(f.body, "process.executable.build_id.gnu"), "names of the conventions");
	tap_ok(ok && has_text(f.body, "main\xef\xbf\xbd") && !has_text(f.body, "main\xff"),
	       "strings are valid UTF-8");
	wire_done(&w);
	otlp_free(o);
	VEC_FREE(&s.bytes);
}

static void test_bad(void)
{
	struct sink s = { .fail_after = 0 };
	struct wire w = { 0 }, empty = { 0 };
	struct err e = { 0 };
	struct otlp *o = otlp_new();
	write_profile(&s);
	tap_int(otlp_finish(o, &empty, &e), 0, "an empty request");
	tap_int(otlp_add(o, s.bytes.v, s.bytes.n / 2, 1 << 20, &resource, &e), -EINVAL,
		"half of a profile");
	tap_int(otlp_add(o, s.bytes.v, s.bytes.n, 50, &resource, &e), -E2BIG, "a large one");
	tap_int(otlp_add(o, "\x12\x03\x0a\x01\x01", 5, 50, &resource, &e), -EINVAL,
		"a sample of nothing");
	tap_int(otlp_finish(o, &w, &e), 0, "the request is written");
	tap_int((long long)w.n, (long long)empty.n, "and has none of them");
	wire_done(&w);
	wire_done(&empty);
	otlp_free(o);
	VEC_FREE(&s.bytes);
}

int main(void)
{
	test_request();
	test_bad();
	return tap_done();
}
