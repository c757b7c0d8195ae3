/* The layouts of known versions, and the tables of programs. */

#include "symbolize/runtime/python-layout.h"
#include "tap.h"

#include <string.h>

#define WORDS (PYTHON_LAYOUT_TABLE_BYTES / 8)

/* That of CPython 3.13.0 for x86-64; the fields up to the end of a code object's. */
static const uint64_t table_13[] = {
	0, 0x030d00f0, 0, 283320, 608, 632,
	194968, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768, 7760,
	304, 0, 8, 16, 72, 152, 160, 232, 32,
	80, 8, 0, 56, 72, 70,
	208, 112, 120, 128, 136, 68, 52, 96, 104, 200,
};

/* 3.14's order, with other fields between them: each offset is unique. */
static const uint64_t table_14[] = {
	0, 0x030e00f0, 0, 320000, 700, 800,
	9000, 7000, 7008, 7016, 7024, 1, 2, 3, 4, 5, 6, 0, 7, 8, 9, 10,
	400, 0, 24, 32, 80, 160, 168, 240, 40,
	88, 16, 8, 56, 72, 74, 64, 68,
	224, 112, 120, 128, 136, 68, 52, 96, 104, 208, 200,
};

static enum python_layout_table read_table(const uint64_t *table, size_t n, size_t word,
					   uint64_t value, struct python_layout *ret,
					   uint32_t *ret_version)
{
	uint64_t copy[WORDS] = { 0 };
	memcpy(copy, table, n);
	memcpy(copy, "xdebugpy", 8);
	if (word)
		copy[word] = value;
	return python_layout_read((const uint8_t *)copy, ret, ret_version);
}

#define READ(table, word, value) \
	read_table(table, sizeof(table), word, value, &l, &version)

static void tables(void)
{
	struct python_layout l = { 0 };
	uint32_t version = 0;
	uint8_t none[PYTHON_LAYOUT_TABLE_BYTES] = { 0 };
	tap_ok(READ(table_13, 0, 0) == PYTHON_LAYOUT_OK && version == 0x030d00f0 && l.minor == 13 &&
	       l.runtime_interpreters == 632 && l.interp_next == 7264 &&
	       l.interp_threads == 7344 && l.thread_next == 8 && l.thread_frame == 72 &&
	       l.thread_id == 152 && l.thread_native_id == 160 && l.frame_previous == 8 &&
	       l.frame_code == 0 && l.frame_instruction == 56 && l.frame_entry == 70 &&
	       l.frame_bytes == 72 && l.code_file == 112 && l.code_qualname == 128 &&
	       l.code_lines == 136 && l.code_first_line == 68 && l.code_start == 200 &&
	       l.code_bytes == 144, "3.13");
	tap_ok(READ(table_14, 0, 0) == PYTHON_LAYOUT_OK && l.minor == 14 &&
	       l.runtime_interpreters == 800 && l.interp_next == 7008 &&
	       l.interp_threads == 7016 && l.thread_next == 24 && l.thread_frame == 80 &&
	       l.thread_id == 160 && l.thread_native_id == 168 && l.frame_previous == 16 &&
	       l.frame_code == 8 && l.frame_entry == 74 && l.code_name == 120 &&
	       l.code_first_line == 68 && l.code_start == 208, "3.14 has more fields");
	tap_ok(READ(table_13, 1, 0x030f00a1) == PYTHON_LAYOUT_UNKNOWN && version == 0x030f00a1 &&
	       READ(table_13, 1, 0x040d00f0) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 1, 0x1030d00f0) == PYTHON_LAYOUT_UNKNOWN, "versions to come");
	tap_ok(READ(table_13, 2, 1) == PYTHON_LAYOUT_FREE_THREADED, "without GIL");
	tap_ok(READ(table_13, 5, 1 << 20) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 8, 7265) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 30, 256) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 33, 256) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 39, UINT64_MAX) == PYTHON_LAYOUT_UNKNOWN &&
	       READ(table_13, 43, 513) == PYTHON_LAYOUT_UNKNOWN, "offsets that cannot be");
	tap_ok(python_layout_read(none, &l, &version) == PYTHON_LAYOUT_NO_TABLE, "no table");
}

int main(void)
{
	struct python_layout l;
	for (unsigned int minor = 8; minor <= 12; minor++)
		tap_ok(python_layout_of(minor, &l) && l.minor == minor &&
		       l.code_bytes >= l.code_lines + 8 && l.frame_bytes >= l.frame_instruction + 8,
		       "3.%u", minor);
	tap_ok(!python_layout_of(7, &l) && !python_layout_of(13, &l) && !python_layout_of(0, &l),
	       "others have none");
	tables();
	return tap_done();
}
