/* Numbers of variable length, values by their form, lengths at the start of units. */

#include "symbolize/dwarf/dwform.h"
#include "tests/unit/tap.h"

#include <dwarf.h>

static const struct dwformat v5 = { 5, 8, 4 }, v5_64 = { 5, 4, 8 }, v2 = { 2, 8, 4 };

static void numbers(void)
{
	static const uint8_t u[] = { 0x7f, 0x80, 0x01, 0xe5, 0x8e, 0x26, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x80 };
	struct bytes b = bytes_of(u, sizeof(u));
	tap_int((long long)dwform_uleb(&b), 127, "one byte");
	tap_int((long long)dwform_uleb(&b), 128, "two bytes");
	tap_int((long long)dwform_uleb(&b), 624485, "three bytes");
	tap_ok(dwform_uleb(&b) == UINT64_MAX && !b.bad, "ten bytes");
	dwform_uleb(&b);
	tap_ok(b.bad, "a number without an end is bad");

	static const uint8_t s[] = { 0x02, 0x7e, 0xff, 0x00, 0x80, 0x7f, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x80, 0x80, 0x80, 0x7f };
	b = bytes_of(s, sizeof(s));
	tap_int(dwform_sleb(&b), 2, "signed: positive");
	tap_int(dwform_sleb(&b), -2, "negative");
	tap_int(dwform_sleb(&b), 127, "a positive number with an extra byte for its sign");
	tap_int(dwform_sleb(&b), -128, "two bytes");
	tap_ok(dwform_sleb(&b) == INT64_MIN && !b.bad, "the smallest signed number");

	static const uint8_t three[] = { 1, 2, 3 };
	b = bytes_of(three, 3);
	tap_int((long long)dwform_unsigned(&b, 3), 0x030201, "three bytes, little endian");
	dwform_unsigned(&b, 5);
	tap_ok(b.bad, "a number of five bytes is bad");
}

/* Reads one value of n bytes; true if exactly these were used. */
static bool uses(unsigned form, const struct dwformat *f, size_t n)
{
	static const uint8_t some[32] = { 3, 0, 'a', 'b', 0 };
	struct bytes b = bytes_of(some, n);
	struct dwvalue v;
	dwform_read(&b, form, 0, f, &v);
	bool exact = !b.bad && !bytes_left(&b);
	int size = dwform_size(form, f);
	if (size >= 0 && (size_t)size != n)
		return false;
	if (!n)
		return exact;
	b = bytes_of(some, n - 1);
	dwform_skip(&b, form, f);
	return exact && b.bad;
}

static void forms(void)
{
	static const struct { unsigned form; const struct dwformat *f; size_t n; } all[] = {
		{ DW_FORM_addr, &v5, 8 }, { DW_FORM_addr, &v5_64, 4 }, { DW_FORM_data1, &v5, 1 },
		{ DW_FORM_data2, &v5, 2 }, { DW_FORM_data4, &v5, 4 }, { DW_FORM_data8, &v5, 8 },
		{ DW_FORM_data16, &v5, 16 }, { DW_FORM_strp, &v5, 4 }, { DW_FORM_strp, &v5_64, 8 },
		{ DW_FORM_ref_addr, &v2, 8 }, { DW_FORM_ref_addr, &v5, 4 },
		{ DW_FORM_ref_addr, &v5_64, 8 }, { DW_FORM_strx3, &v5, 3 },
		{ DW_FORM_flag_present, &v5, 0 }, { DW_FORM_implicit_const, &v5, 0 },
		{ DW_FORM_string, &v5, 2 }, { DW_FORM_block1, &v5, 4 }, { DW_FORM_exprloc, &v5, 4 },
		{ DW_FORM_block2, &v5, 5 }, { DW_FORM_sec_offset, &v5_64, 8 },
		{ DW_FORM_udata, &v5, 1 }, { DW_FORM_addrx, &v5, 1 }, { DW_FORM_ref_sig8, &v5, 8 },
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		tap_ok(uses(all[i].form, all[i].f, all[i].n), "form %#x takes %zu bytes",
		       all[i].form, all[i].n);

	struct dwvalue v;
	struct bytes b = bytes_of("", 0);
	dwform_read(&b, DW_FORM_implicit_const, -7, &v5, &v);
	tap_int((long long)v.u, -7, "DW_FORM_implicit_const");
	static const uint8_t indirect[] = { DW_FORM_data2, 0x34, 0x12 };
	b = bytes_of(indirect, sizeof(indirect));
	dwform_read(&b, DW_FORM_indirect, 0, &v5, &v);
	tap_ok(v.form == DW_FORM_data2 && v.u == 0x1234 && !b.bad, "DW_FORM_indirect");
	static const uint8_t again[] = { DW_FORM_indirect, DW_FORM_data1, 1 };
	b = bytes_of(again, sizeof(again));
	dwform_read(&b, DW_FORM_indirect, 0, &v5, &v);
	tap_ok(b.bad, "DW_FORM_indirect twice is bad");
	b = bytes_of(again, sizeof(again));
	dwform_read(&b, 0x7b, 0, &v5, &v);
	tap_ok(b.bad && dwform_size(0x7b, &v5) == DWFORM_UNKNOWN, "an unknown form is bad");
}

static void lengths(void)
{
	static const uint8_t two[] = { 2, 0, 0, 0, 'a', 'b', 'c' };
	static const uint8_t large[] = { 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 'a' };
	static const uint8_t reserved[] = { 0xf0, 0xff, 0xff, 0xff, 0, 0, 0, 0 };
	uint8_t off_bytes;
	struct bytes b = bytes_of(two, sizeof(two)), behind = dwform_length(&b, &off_bytes);
	tap_ok(!b.bad && off_bytes == 4 && bytes_left(&b) == 2 && *behind.p == 'c',
	       "32-bit length");
	b = bytes_of(large, sizeof(large));
	behind = dwform_length(&b, &off_bytes);
	tap_ok(!b.bad && off_bytes == 8 && bytes_left(&b) == 1 && behind.p == behind.end,
	       "64-bit length");
	b = bytes_of(reserved, sizeof(reserved));
	dwform_length(&b, &off_bytes);
	tap_ok(b.bad, "a reserved length is bad");
	b = bytes_of(two, 5);
	behind = dwform_length(&b, &off_bytes);
	tap_ok(b.bad && behind.bad, "a length past the end is bad");
}

int main(void)
{
	numbers();
	forms();
	lengths();
	return tap_done();
}
