#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

static struct gomemory memory;
static int n_reads;

static long count_reads(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	n_reads++;
	return gomemory_read(ctx, local, n_local, remote, n_remote);
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
	return tap_done();
}
