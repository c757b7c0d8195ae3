/* Where newproc1 keeps the creator's g, and which calls create a goroutine. */
#include "labels/gobirth.h"

#include "tests/unit/tap.h"

static void words(void)
{
	/* as Go 1.19 begins: mov %rbp,0x40(%rsp); lea 0x40(%rsp),%rbp; mov %rbx,0x38(%rsp) */
	const uint8_t go119[] = { 0x48, 0x89, 0x6c, 0x24, 0x40, 0x48, 0x8d, 0x6c, 0x24, 0x40,
				  0x48, 0x89, 0x5c, 0x24, 0x38, 0x48, 0x89, 0x44, 0x24, 0x50 };
	const uint8_t wide[] = { 0x90, 0x48, 0x89, 0x9c, 0x24, 0xb0, 0, 0, 0, 0x90 };
	const uint8_t far[] = { 0x48, 0x89, 0x9c, 0x24, 0xb0, 1, 0, 0, 0x90 };
	const uint8_t odd[] = { 0x48, 0x89, 0x5c, 0x24, 0x39, 0x90, 0x90, 0x90 };
	tap_int(gobirth_creator_word(go119, sizeof(go119)), 8, "a slot at 56");
	tap_int(gobirth_creator_word(wide, sizeof(wide)), 23, "a slot at 176");
	tap_int(gobirth_creator_word(far, sizeof(far)), 0, "beyond what is reported");
	tap_int(gobirth_creator_word(odd, sizeof(odd)), 0, "not the slot of a pointer");
	tap_int(gobirth_creator_word(go119, 10), 0, "no slot");
	tap_int(gobirth_creator_word(go119, 0), 0, "no code");
}

static void calls(void)
{
	const struct gobirth_code c = { .at = 0x3000, .g_offset = 56, .newproc1 = 0x1000,
					.newproc1_end = 0x1100, .creator_word = 3 };
	uint64_t stack[] = { 0x1050, 1, 2, 0xc000001000, 4 };
	struct gobreak_hit h = { .at = 0x3000, .time_ns = 5, .labels = 0xc000002038,
				 .stack = stack, .n_words = 5 };
	struct goread_birth b;
	tap_ok(gobirth_decode(&c, &h, &b), "a call by newproc1");
	tap_int((long long)b.g, 0xc000002000, "the new one");
	tap_int((long long)b.creator, 0xc000001000, "its creator");
	h.n_words = 3;
	tap_ok(gobirth_decode(&c, &h, &b) && !b.creator, "a stack that ends before the creator");
	stack[0] = 0x1100;
	tap_ok(!gobirth_decode(&c, &h, &b), "a call by another function");
	h.n_words = 0;
	tap_ok(!gobirth_decode(&c, &h, &b), "no stack");
}

int main(void)
{
	words();
	calls();
	return tap_done();
}
