#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

static struct gomemory memory;
static int n_reads;
static uint64_t changed_at;             /* after its page was read; 0: nothing changes */

static long count_reads(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	long n_bytes = 0, r = 0;
	n_reads++;
	if (!changed_at)
		return gomemory_read(ctx, local, n_local, remote, n_remote);
	for (size_t i = 0; i < n_local && r >= 0; i++) {
		r = gomemory_read(ctx, &local[i], 1, &remote[i], 1);
		n_bytes += r > 0 ? r : 0;
		if (changed_at - (uintptr_t)remote[i].iov_base < RUNTIME_PAGE_BYTES)
			gomemory_word(&memory, changed_at, (uint64_t)n_bytes);
	}
	return n_bytes;
}

/* Pages a, b and c, of which only a is used later on. */
static void test_again(const struct runtime_memory *from)
{
	const uint64_t a = GOMEMORY_HEAP, b = a + RUNTIME_PAGE_BYTES, c = b + RUNTIME_PAGE_BYTES;
	struct runtime_pages p;
	uint64_t word, other;
	runtime_pages_init(&p, from, 100);
	runtime_pages_read(&p, b, &word, 8);
	runtime_pages_read(&p, a, &word, 8);
	runtime_pages_read(&p, c, &word, 8);
	gomemory_word(&memory, a, 4711);
	gomemory_word(&memory, c, 4712);
	n_reads = 0;
	runtime_pages_again(&p);
	tap_ok(n_reads == 1 && p.n_left == 91 && runtime_pages_read(&p, a, &word, 8) &&
	       runtime_pages_read(&p, c, &other, 8) && word == 4711 && other == 4712 &&
	       n_reads == 1, "three pages are read again at once");
	for (int i = 0; i < 10; i++) {
		runtime_pages_read(&p, a, &word, 8);
		runtime_pages_again(&p);
	}
	tap_ok(p.pages.n == 1 && runtime_pages_read(&p, a, &word, 8) && word == 4711 &&
	       n_reads == 11, "only those that are used");
	changed_at = a;
	runtime_pages_again(&p);
	runtime_pages_read(&p, a, &word, 8);
	runtime_pages_use_second(&p);
	tap_ok(runtime_pages_read(&p, a, &other, 8) && word == 4711 &&
	       other == RUNTIME_PAGE_BYTES && !runtime_pages_read(&p, b, &other, 8),
	       "each is read twice");
	runtime_pages_again(&p);
	tap_ok(runtime_pages_read(&p, a, &other, 8) && other == 2 * RUNTIME_PAGE_BYTES,
	       "the first reading is used first");
	changed_at = 0;
	gomemory_word(&memory, a, 4711);
	runtime_pages_read(&p, GOMEMORY_HEAP + GOMEMORY_HEAP_BYTES, &word, 8);
	runtime_pages_again(&p);
	tap_int(p.pages.n, 1, "not those that could not be read");
	p.n_left = 1;
	runtime_pages_read(&p, b, &word, 8);
	n_reads = 0;
	runtime_pages_again(&p);
	tap_ok(!p.pages.n && !n_reads, "no more pages than allowed");
	p.n_left = 100;
	runtime_pages_read(&p, b, &word, 8);
	runtime_pages_read(&p, a, &word, 8);
	memory.is_gone = true;
	runtime_pages_again(&p);
	memory.is_gone = false;
	tap_ok(!p.pages.n && runtime_pages_read(&p, a, &word, 8) && word == 4711,
	       "if they cannot be read, each is read anew");
	runtime_pages_done(&p);
}

static void test_before(const struct runtime_memory *from)
{
	const uint64_t first = GOMEMORY_HEAP, third = first + 2 * RUNTIME_PAGE_BYTES;
	struct runtime_pages p;
	uint64_t word, other;
	runtime_pages_init(&p, from, 100);
	runtime_pages_read(&p, third, &word, 8);
	gomemory_word(&memory, first, 4711);
	n_reads = 0;
	runtime_pages_before(&p, third + 8, 5);
	tap_ok(n_reads == 1 && p.n_left == 95, "pages before one that was read, at once");
	tap_ok(runtime_pages_read(&p, first, &word, 8) && word == 4711 &&
	       runtime_pages_read(&p, first + RUNTIME_PAGE_BYTES, &other, 8) &&
	       !runtime_pages_read(&p, first - 8, &other, 8) && n_reads == 1,
	       "down to one that does not exist");
	runtime_pages_before(&p, RUNTIME_PAGE_BYTES, 5);
	tap_ok(p.n_left == 94, "nor before the first one");
	runtime_pages_forget(&p);
	p.n_left = 2;
	runtime_pages_before(&p, third, 5);
	tap_ok(!p.n_left && runtime_pages_read(&p, third, &word, 8) &&
	       !runtime_pages_read(&p, first, &word, 8), "no more of them than allowed");
	runtime_pages_done(&p);
}

static void test_fetch(const struct runtime_memory *from)
{
	const uint64_t a = GOMEMORY_HEAP, end = a + GOMEMORY_HEAP_BYTES;
	const uint64_t at[] = { a + 16, a + 8, end, a + 3 * RUNTIME_PAGE_BYTES };
	struct runtime_pages p;
	uint64_t word;
	runtime_pages_init(&p, from, 100);
	n_reads = 0;
	runtime_pages_fetch(&p, at, 4);
	tap_ok(n_reads == 1 && p.n_left == 97 && runtime_pages_read(&p, a, &word, 8) &&
	       !runtime_pages_read(&p, end, &word, 8) && n_reads == 1,
	       "pages in any order, each once");
	tap_ok(runtime_pages_read(&p, at[3], &word, 8) && n_reads == 2,
	       "one after another that does not exist is read alone");
	runtime_pages_fetch(&p, at, 4);
	tap_int(n_reads, 2, "nothing is read again");
	runtime_pages_done(&p);
}

/* Two parts that follow each other, and one on another page. */
static void test_copy(const struct runtime_memory *from)
{
	const uint64_t a = GOMEMORY_HEAP, b = a + RUNTIME_PART_BYTES;
	const uint64_t c = a + 6 * RUNTIME_PART_BYTES;
	static uint8_t bytes[3][RUNTIME_PART_BYTES];
	static const uint8_t stack[24] = "on the stack, 16 bytes";
	uint64_t stamp = 5, word, at[8];
	uint8_t two[16];
	const struct runtime_copy copy = { .n = 3, .at = { a, c, b }, .stamp = &stamp, .time_ns = 5,
					   .bytes = { bytes[0], bytes[1], bytes[2] },
					   .stack_at = 0x7000, .n_stack_bytes = sizeof(stack),
					   .stack = stack };
	struct runtime_pages p;
	memset(bytes[0], 'a', sizeof(bytes[0]));
	memset(bytes[2], 'b', sizeof(bytes[2]));
	runtime_pages_init(&p, from, 100);
	runtime_pages_read(&p, c + 8, &word, 8);
	runtime_pages_read(&p, b - 4, &word, 8);
	tap_ok(runtime_pages_used(&p, at, 8) == 3 && at[0] == c && at[1] == a && at[2] == b,
	       "the parts that were used");
	tap_int((long)runtime_pages_used(&p, at, 2), 2, "at most so many");
	runtime_pages_again(&p);
	tap_int((long)runtime_pages_used(&p, at, 8), 0, "none since the pages were read again");
	runtime_pages_use_copy(&p, &copy);
	n_reads = 0;
	tap_ok(runtime_pages_read(&p, b - 8, two, 16) && two[7] == 'a' && two[8] == 'b',
	       "a copy instead of the memory, in two of its parts");
	tap_ok(!runtime_pages_read(&p, c - 4, two, 8) &&
	       !runtime_pages_read(&p, b + 1020, two, 8) && n_reads == 0,
	       "nothing else can be read");
	tap_ok(runtime_pages_read(&p, 0x7008, two, 16) && memcmp(two, stack + 8, 16) == 0,
	       "but a part of the stack");
	tap_ok(!runtime_pages_read(&p, 0x7009, two, 16) && !runtime_pages_read(&p, 0x6fff, two, 8),
	       "not what is beyond it");
	tap_ok(runtime_copy_is_intact(&copy), "it is intact");
	stamp = 0;
	tap_ok(!runtime_copy_is_intact(&copy), "until it is overwritten");
	runtime_pages_use_copy(&p, NULL);
	tap_ok(runtime_pages_read(&p, c - 4, two, 8), "the memory again");
	runtime_pages_done(&p);
}

int main(void)
{
	const struct runtime_memory from = { count_reads, &memory };
	const uint64_t heap = GOMEMORY_HEAP, end = heap + GOMEMORY_HEAP_BYTES;
	struct runtime_pages p;
	uint64_t word = 0;
	uint8_t many[3 * RUNTIME_PAGE_BYTES];
	for (uint64_t at = heap; at < end; at += 8)
		gomemory_word(&memory, at, at);
	runtime_pages_init(&p, &from, 9);
	tap_ok(runtime_pages_read(&p, heap + 16, &word, 8) && word == heap + 16 &&
	       runtime_pages_read(&p, heap + 4088, &word, 8) && word == heap + 4088 && n_reads == 1,
	       "a page is read once");
	gomemory_word(&memory, heap + 16, 1);
	tap_ok(runtime_pages_read(&p, heap + 16, &word, 8) && word == heap + 16,
	       "it stays as it was");
	runtime_pages_forget(&p);
	tap_ok(runtime_pages_read(&p, heap + 16, &word, 8) && word == 1, "until it is forgotten");
	tap_ok(runtime_pages_read(&p, heap + 4092, many, 2 * RUNTIME_PAGE_BYTES) && n_reads == 4 &&
	       memcmp(many + 4, memory.heap + 4096, 2 * RUNTIME_PAGE_BYTES - 4) == 0,
	       "a piece on three pages");
	tap_ok(!runtime_pages_read(&p, end - 4, &word, 8), "the second page does not exist");
	tap_ok(!runtime_pages_read(&p, end, &word, 8) && n_reads == 6, "nor is it tried again");
	tap_ok(!runtime_pages_read(&p, UINT64_MAX - 3, &word, 8) &&
	       !runtime_pages_read(&p, heap, many, SIZE_MAX) && n_reads == 6,
	       "addresses that cannot be");
	memcpy(memory.heap + RUNTIME_PAGE_BYTES - 3, "a text", 7);
	memset(memory.heap + GOMEMORY_HEAP_BYTES - 2, 'x', 2);
	char text[7];
	runtime_pages_forget(&p);
	uint64_t n_left = p.n_left;
	p.n_left = 3;
	tap_ok(runtime_pages_text(&p, heap + RUNTIME_PAGE_BYTES - 3, text, 7) &&
	       strcmp(text, "a text") == 0, "a text on two pages");
	tap_ok(!runtime_pages_text(&p, heap + RUNTIME_PAGE_BYTES - 3, text, 6), "a longer one");
	tap_ok(!runtime_pages_text(&p, end - 2, text, 7), "a text without an end");
	p.n_left = n_left;
	n_reads = 6;
	tap_ok(runtime_pages_read(&p, heap + 5 * RUNTIME_PAGE_BYTES, many, sizeof(many)) &&
	       !p.n_left && !runtime_pages_read(&p, heap + 12 * RUNTIME_PAGE_BYTES, &word, 8) &&
	       n_reads == 9, "no more pages than allowed");
	runtime_pages_done(&p);

	runtime_pages_init(&p, &from, 1 << 20);
	for (uint64_t at = heap; at < heap + 20000 * RUNTIME_PAGE_BYTES; at += RUNTIME_PAGE_BYTES)
		runtime_pages_read(&p, at, &word, 8);
	tap_ok(p.pages.n < 5000, "they take a limited amount of memory");
	runtime_pages_done(&p);
	test_again(&from);
	test_before(&from);
	test_fetch(&from);
	test_copy(&from);
	return tap_done();
}
