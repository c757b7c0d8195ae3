#include "base/bytes.h"

#include "tap.h"

#include <stdlib.h>

/* A reader of a copy of exact size, so ASan detects reads beyond its end. */
static struct bytes over(const void *data, size_t n, void **ret_copy)
{
	*ret_copy = malloc(n ? n : 1);
	memcpy(*ret_copy, data, n);
	return bytes_of(*ret_copy, n);
}

int main(void)
{
	struct { uint8_t a; } one = { 7 };
	uint8_t mixed[15];
	uint16_t u16 = 0x1234;
	uint32_t u32 = 0x12345678;
	uint64_t u64 = 0x123456789abcdef0;
	mixed[0] = 0xfe;
	memcpy(mixed + 1, &u16, 2);
	memcpy(mixed + 3, &u32, 4);
	memcpy(mixed + 7, &u64, 8);
	void *copy;
	struct bytes b = over(mixed, 15, &copy);
	tap_int((long long)bytes_left(&b), 15, "all bytes are left");
	tap_ok(bytes_u8(&b) == 0xfe && bytes_u16(&b) == u16 && bytes_u32(&b) == u32 &&
	       bytes_u64(&b) == u64, "numbers of all sizes, unaligned");
	tap_ok(bytes_left(&b) == 0 && !b.bad, "to the end");
	tap_ok(bytes_u8(&b) == 0 && b.bad, "beyond the end: zero, and bad");
	free(copy);

	b = over(&one, 1, &copy);
	tap_ok(bytes_u64(&b) == 0 && b.bad && bytes_left(&b) == 1,
	       "an incomplete number does not advance");
	tap_int(bytes_u8(&b), 0, "bad stays bad");
	free(copy);

	b = over("abc", 3, &copy);
	tap_ok(bytes_take(&b, 3) == copy && bytes_left(&b) == 0 && bytes_take(&b, 0) && !b.bad,
	       "take all, then nothing");
	tap_ok(!bytes_take(&b, 1) && b.bad, "take one byte too many");
	free(copy);
	b = over("abc", 3, &copy);
	tap_ok(!bytes_take(&b, SIZE_MAX) && b.bad, "take far too many bytes");
	free(copy);

	b = over("ab\0\0c", 5, &copy);
	tap_str(bytes_cstr(&b), "ab", "string");
	tap_str(bytes_cstr(&b), "", "empty string");
	tap_ok(!b.bad, "both are good");
	tap_str(bytes_cstr(&b), "", "string without a NUL");
	tap_ok(b.bad && bytes_left(&b) == 1, "is bad and does not advance");
	free(copy);
	return tap_done();
}
