#include "proto/wire.h"
#include "tap.h"

#include <stdlib.h>

static bool is_hex(const struct wire *w, const char *hex)
{
	if (strlen(hex) != 2 * w->n)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		char two[3];
		snprintf(two, sizeof(two), "%02x", w->p[i]);
		if (memcmp(two, hex + 2 * i, 2) != 0)
			return false;
	}
	return true;
}

static void test_write(void)
{
	static const struct { uint64_t value; const char *hex; } number[] = {
		{ 1, "0801" }, { 127, "087f" }, { 128, "088001" }, { 300, "08ac02" },
		{ 16383, "08ff7f" }, { 16384, "08808001" },
		{ UINT64_MAX, "08ffffffffffffffffff01" },
	};
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++) {
		struct wire w = { 0 };
		wire_uint(&w, 1, number[i].value);
		tap_ok(is_hex(&w, number[i].hex), "%llu is written as %s",
		       (unsigned long long)number[i].value, number[i].hex);
		wire_done(&w);
	}
	struct wire w = { 0 };
	wire_uint(&w, 1, 0);
	tap_int((long long)w.n, 0, "zero is omitted");
	wire_uint_always(&w, 1, 0);
	tap_ok(is_hex(&w, "0800"), "unless requested");
	w.n = 0;
	wire_fixed64(&w, 3, 0x1122334455667788);
	tap_ok(is_hex(&w, "198877665544332211"), "eight bytes, the lowest first");
	w.n = 0;
	wire_fixed64(&w, 3, 0);
	tap_int((long long)w.n, 0, "zero of eight bytes is omitted");
	wire_bytes(&w, 2, "testing", 7);
	tap_ok(is_hex(&w, "120774657374696e67"), "bytes");
	w.n = 0;
	wire_packed(&w, 4, (uint64_t[]){ 3, 270, 86942 }, 3);
	tap_ok(is_hex(&w, "2206038e029ea705"), "packed numbers");
	w.n = 0;
	wire_packed(&w, 4, NULL, 0);
	tap_int((long long)w.n, 0, "an empty list writes no field");
	size_t outer = wire_begin(&w, 3), inner = wire_begin(&w, 1);
	wire_uint(&w, 1, 150);
	wire_end(&w, inner);
	wire_end(&w, outer);
	tap_ok(is_hex(&w, "1a050a03089601"), "messages nest");
	wire_done(&w);
}

/* Bodies near the lengths at which the length field grows by a byte. */
static void test_lengths(void)
{
	static const size_t size[] = { 0, 1, 127, 128, 129, 16383, 16384, 2097151, 2097152 };
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		size_t n = size[i];
		unsigned char *body = malloc(n + 1);
		for (size_t k = 0; k < n; k++)
			body[k] = (unsigned char)(k * 7);
		struct wire w = { 0 };
		size_t mark = wire_begin(&w, 9);
		wire_bytes(&w, 1, body, n);
		wire_end(&w, mark);
		struct bytes b = bytes_of(w.p, w.n), in;
		struct wire_field f = { 0 }, g = { 0 };
		bool ok = wire_next(&b, &f) == 1 && f.number == 9 && f.type == WIRE_BYTES &&
			  wire_next(&b, &g) == 0;
		in = f.body;
		ok = ok && wire_next(&in, &g) == 1 && bytes_left(&g.body) == n &&
		     memcmp(g.body.p, body, n) == 0 && wire_next(&in, &g) == 0;
		tap_ok(ok, "a message of %zu bytes is read back", n);
		wire_done(&w);
		free(body);
	}
}

static int next_of(const char *data, size_t n, struct wire_field *f)
{
	struct bytes b = bytes_of(data, n);
	return wire_next(&b, f);
}

static void test_read(void)
{
	struct wire_field f = { 0 };
	struct bytes b = bytes_of("\x08\x96\x01\x11\1\0\0\0\0\0\0\0\x1d\2\0\0\0\xfa\x7f\1x", 21);
	tap_ok(wire_next(&b, &f) == 1 && f.number == 1 && f.value == 150, "a number");
	tap_ok(wire_next(&b, &f) == 1 && f.number == 2 && f.value == 1, "a fixed64");
	tap_ok(wire_next(&b, &f) == 1 && f.number == 3 && f.value == 2, "a fixed32");
	tap_ok(wire_next(&b, &f) == 1 && f.number == 2047 && bytes_left(&f.body) == 1 &&
	       *f.body.p == 'x', "bytes with a two-byte tag");
	tap_int(wire_next(&b, &f), 0, "then the end");
	tap_int(next_of("\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &f), 1,
		"a number may be longer than necessary");
	tap_int((long long)f.value, 1, "and has its value");

	tap_int(next_of("\x08\x80", 2, &f), -1, "a truncated number");
	tap_int(next_of("\x08", 1, &f), -1, "a tag without a value");
	tap_int(next_of("\x0a\x05hi", 4, &f), -1, "truncated bytes");
	tap_int(next_of("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &f), -1,
		"a length of 2^64 - 1");
	tap_int(next_of("\x09\1\0\0", 4, &f), -1, "a truncated fixed64");
	tap_int(next_of("\x0d\1\0", 3, &f), -1, "a truncated fixed32");
	tap_int(next_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, &f), -1,
		"a number of eleven bytes");
	tap_int(next_of("\x00\x01", 2, &f), -1, "field number 0");
	tap_int(next_of("\x0b\x0c", 2, &f), -1, "a group");
	tap_int(next_of("\x0e\x01", 2, &f), -1, "wire type 6");
	b = bytes_of("\x10\x01\x08\x80", 4);
	tap_ok(wire_next(&b, &f) == 1 && wire_next(&b, &f) == -1 && wire_next(&b, &f) == -1,
	       "nothing follows a malformed field");
}

int main(void)
{
	test_write();
	test_lengths();
	test_read();
	return tap_done();
}
