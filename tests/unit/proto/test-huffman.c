#include "proto/huffman.h"
#include "tap.h"

/* Of counts like Fibonacci's numbers, whose code would be too long. */
static void check_codes(void)
{
	for (unsigned max_bits = 5; max_bits <= 15; max_bits++) {
		uint32_t count[30] = { 1, 1 }, sum = 0, n = max_bits < 9 ? 19 : 30;
		struct huffman_code code[30];
		bool is_short = true;
		for (unsigned i = 2; i < n; i++)
			count[i] = count[i - 1] + count[i - 2];
		huffman_build(count, n, max_bits, code);
		for (unsigned i = 0; i < n; i++) {
			is_short &= code[i].n_bits > 0 && code[i].n_bits <= max_bits;
			sum += 1u << (15 - code[i].n_bits);
		}
		tap_ok(is_short && sum == 1u << 15, "a complete code of at most %u bits", max_bits);
	}
}

/* RFC 1951, 3.2.2: lengths (3, 3, 3, 3, 3, 2, 4, 4) give 010 to 110, 00, 1110 and 1111. */
static void check_example(void)
{
	static const uint8_t n_bits[8] = { 3, 3, 3, 3, 3, 2, 4, 4 };
	/* with the first bit lowest */
	static const uint16_t want[8] = { 2, 6, 1, 5, 3, 0, 7, 15 };
	struct huffman_code code[8];
	int n_right = 0;
	for (int i = 0; i < 8; i++)
		code[i].n_bits = n_bits[i];
	huffman_assign(code, 8);
	for (int i = 0; i < 8; i++)
		n_right += code[i].bits == want[i];
	tap_int(n_right, 8, "the example of the RFC");
}

static void check_few(void)
{
	struct huffman_code code[5];
	huffman_build((const uint32_t[5]){ 0 }, 5, 15, code);
	tap_ok(code[0].n_bits == 1 && code[1].n_bits == 1 && !code[2].n_bits,
	       "two codes where no symbol occurs");
	huffman_build((const uint32_t[5]){ 0, 0, 7, 0, 0 }, 5, 15, code);
	tap_ok(code[0].n_bits == 1 && code[2].n_bits == 1 && code[0].bits != code[2].bits,
	       "another code where one symbol occurs");
}

int main(void)
{
	check_codes();
	check_example();
	check_few();
	return tap_done();
}
