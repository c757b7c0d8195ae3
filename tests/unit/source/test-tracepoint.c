/* Descriptions of tracepoints by kernels of different ages, and the data that they describe. */
#include "source/schedpoint.h"
#include "source/tracepoint.h"
#include "tests/unit/source/schedpoint-texts.h"
#include "tests/unit/tap.h"

#define LL(x) ((long long)(x))

static void test_fields(void)
{
	struct tracepoint_field f = { 0 };
	tap_ok(tracepoint_is(SWITCH_6_18, "sched_switch"), "the name");
	tap_ok(!tracepoint_is(SWITCH_6_18, "sched_switc") && !tracepoint_is(SWITCH_6_18, "x") &&
	       !tracepoint_is("", "sched_switch"), "the whole name");
	tap_ok(tracepoint_field(SWITCH_6_18, "prev_pid", &f) && f.offset == 24 && f.n_bytes == 4,
	       "a field");
	tap_ok(tracepoint_field(SWITCH_6_18, "common_flags", &f) && f.offset == 2 && f.n_bytes == 1,
	       "one of all tracepoints");
	f.offset = 77;
	tap_ok(!tracepoint_field(SWITCH_6_18, "pid", &f) && f.offset == 77,
	       "the end of a name is no name, and changes nothing");
	tap_ok(!tracepoint_field(SWITCH_6_18, "prev_comm", &f), "a text is not a number");
	static const char *const bad[] = {
		"field:int x; offset:1; size:3;", "field:int x; offset:65536; size:4;",
		"field:int x; offset:; size:4;", "field:int x; offset:1; size:4", "field:int x",
		"field:int x; size:4; offset:1;", "field:int x\n; offset:1; size:4;", "field:x;",
		"field:;",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		tap_ok(!tracepoint_field(bad[i], "x", &f), "no field: %s", bad[i]);
}

static void test_values(void)
{
	const uint8_t raw[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint64_t x = 9;
	tap_ok(tracepoint_value(&(struct tracepoint_field){ 2, 4 }, raw, 8, is_big, &x) &&
	       x == 0x06050403, "little-endian");
	tap_ok(tracepoint_value(&(struct tracepoint_field){ 2, 4 }, raw, 8, !is_big, &x) &&
	       x == 0x03040506, "big-endian");
	tap_ok(tracepoint_value(&(struct tracepoint_field){ 0, 8 }, raw, 8, is_big, &x) &&
	       x == 0x0807060504030201, "8 bytes");
	tap_ok(!tracepoint_value(&(struct tracepoint_field){ 5, 4 }, raw, 8, is_big, &x),
	       "the end of the field is missing");
	tap_ok(!tracepoint_value(&(struct tracepoint_field){ 9, 1 }, raw, 8, is_big, &x),
	       "all of it is missing");
	tap_ok(!tracepoint_value(&(struct tracepoint_field){ 0, 0 }, raw, 8, is_big, &x),
	       "there is no such field");
}

static void test_constants(void)
{
	static const struct { const char *text; long long want; const char *rest; } good[] = {
		{ "1024", 1024, "" }, { "0x10 ? 1", 16, " ? 1" }, { "(1024-1)", 1023, "" },
		{ "(((0x0 | 0x1 | 0x40) + 1) << 1) - 1)", 131, ")" }, { "1 << 64", 0, "" },
		{ "7 & 3 | 8 ? \"+\"", 11, " ? \"+\"" }, { "2UL << 1", 4, "" },
		{ "1 && 2", 1, " && 2" },
	};
	static const char *const bad[] = { "", "x", "(1", "1 +", "()", "TASK_MAX", "1 << x", "-1" };
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		const char *at = good[i].text;
		uint64_t x = 0;
		tap_ok(tracepoint_constant(&at, &x), "a constant: %s", good[i].text);
		tap_int(LL(x), good[i].want, "its value");
		tap_str(at, good[i].rest, "what follows");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *at = bad[i];
		uint64_t x = 5;
		tap_ok(!tracepoint_constant(&at, &x) && at == bad[i] && x == 5, "none: '%s'",
		       bad[i]);
	}
	char deep[256];
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	const char *at = deep;
	uint64_t x;
	tap_ok(!tracepoint_constant(&at, &x), "no end of parentheses");
}

/* A sample of sched_switch in the layout of 64-bit machines. */
static void put_switch(uint8_t raw[64], uint8_t flags, uint32_t tid, uint64_t state, uint32_t next)
{
	memset(raw, 0, 64);
	raw[2] = flags;
	memcpy(raw + 24, &tid, 4);
	memcpy(raw + 32, &state, 8);
	memcpy(raw + 56, &next, 4);
}

static void test_states(const char *text, uint64_t preempted, const char *what)
{
	struct schedpoint p;
	struct schedpoint_seen s;
	uint8_t raw[64];
	tap_ok(schedpoint_init(&p, text) && p.kind == SCHEDPOINT_SWITCH, "%s", what);
	put_switch(raw, 0, 71, 1, 72);
	tap_ok(schedpoint_read(&p, raw, 64, false, &s) && s.tid == 71 && s.next_tid == 72 &&
	       !s.is_preempted && !s.is_disk && !s.is_dead && !s.is_interrupt, "asleep");
	put_switch(raw, 0, 71, 2, 0);
	tap_ok(schedpoint_read(&p, raw, 64, false, &s) && s.is_disk && !s.is_preempted &&
	       s.next_tid == 0, "in uninterruptible sleep");
	put_switch(raw, 0, 71, preempted, 72);
	tap_ok(schedpoint_read(&p, raw, 64, false, &s) && s.is_preempted && !s.is_dead,
	       "preempted");
	put_switch(raw, 0, 71, 0, 72);
	tap_ok(schedpoint_read(&p, raw, 64, false, &s) && s.is_preempted,
	       "it gave its CPU to another thread");
	put_switch(raw, 0, 71, 0x10, 72);
	tap_ok(schedpoint_read(&p, raw, 64, false, &s) && s.is_dead, "it has ended");
	tap_ok(!schedpoint_read(&p, raw, 59, false, &s), "the data are too short");
}

static void test_wakes(void)
{
	struct schedpoint p;
	struct schedpoint_seen s;
	uint8_t raw[40] = { 0 };
	uint32_t tid = 71;
	memcpy(raw + 24, &tid, 4);
	tap_ok(schedpoint_init(&p, WAKING_6_18) && p.kind == SCHEDPOINT_WAKING, "sched_waking");
	tap_ok(schedpoint_read(&p, raw, sizeof(raw), false, &s) && s.tid == 71 && !s.is_interrupt,
	       "a thread wakes another one");
	static const uint8_t flags[] = { 0x08, 0x10, 0x40 };
	for (size_t i = 0; i < sizeof(flags); i++) {
		raw[2] = flags[i];
		tap_ok(schedpoint_read(&p, raw, sizeof(raw), false, &s) && s.is_interrupt,
		       "an interrupt does, flag %#x", flags[i]);
	}
	raw[2] = 0x01 | 0x04 | 0x20;
	tap_ok(schedpoint_read(&p, raw, sizeof(raw), false, &s) && !s.is_interrupt,
	       "other flags are not about that");
	tap_ok(!schedpoint_init(&p, "name: sched_stat_wait\n") && p.kind == SCHEDPOINT_OTHER,
	       "other tracepoints are ignored");
	tap_ok(!schedpoint_init(&p, "name: sched_switch\n"
				"\tfield:int common_flags;\toffset:2;\tsize:1;\n"),
	       "so is one without its fields");
}

int main(void)
{
	test_fields();
	test_values();
	test_constants();
	test_states(SWITCH_6_18, 0x100, "Linux 6.18: the bit after all states is computed");
	test_states(SWITCH_4_4, 2048, "Linux 4.4: it is a number");
	test_states(SWITCH_NO_TABLE, 0x100 + 1 - 1, "with names in place of numbers");
	test_wakes();
	return tap_done();
}
