/* Pieces of code are proven together: what is read for it, and what a part that cannot be read
 * means for the others. */

#include "proc/livepieces.h"

#include "base/budget.h"
#include "symbolize/runtime/runtime-memory.h"
#include "tests/unit/symbolize/flatmemory.h"
#include "tests/unit/tap.h"

#define BASE 0x10000u

static uint8_t bytes[4096];
static size_t n_calls, n_ranges;

static long read_bytes(void *ctx, const struct iovec *local, size_t n_local,
		       const struct iovec *remote, size_t n_remote)
{
	const struct flatmemory m = { bytes, sizeof(bytes), BASE, false };
	(void)ctx;
	n_calls++;
	n_ranges += n_remote;
	return flatmemory_read(&m, local, n_local, remote, n_remote);
}

static void release(struct runtime_code *code)
{
	code->data = NULL;
}

/* A piece with two witnesses. */
static void add(struct livepieces *s, uint64_t start, uint64_t first, uint64_t second)
{
	struct livepiece_code c = { .c = { .start = start, .n_bytes = 16 } };
	c.c.witness[0] = (struct runtime_code_witness){ .at = first, .n_bytes = 8 };
	c.c.witness[3] = (struct runtime_code_witness){ .at = second, .n_bytes = 4 };
	if (!livepieces_add(s, &c))
		abort();
}

int main(void)
{
	static const struct runtime_code_ops ops = { .release = release };
	const struct runtime_memory memory = { read_bytes, NULL };
	struct budget budget;
	budget_init(&budget, 1 << 20);
	struct livepieces s = { .budget = &budget, .ops = &ops };
	add(&s, 0x100, BASE, BASE + 200);
	add(&s, 0x200, BASE + 8, BASE + 2000);
	add(&s, 0x300, BASE + 0x100000, BASE + 16);
	add(&s, 0x400, BASE + 100, BASE + 50);
	struct livepiece *at[] = { livepieces_at(&s, 0x100), livepieces_at(&s, 0x200),
				   livepieces_at(&s, 0x300), livepieces_at(&s, 0x400) };
	livepieces_prove(&s, &memory, at, 2, 7);
	tap_ok(at[0]->code != LIVEPIECE_NO_CODE && at[1]->code != LIVEPIECE_NO_CODE,
	       "two pieces are as they were");
	tap_int((int)n_calls, 1, "they are read at once");
	tap_int((int)n_ranges, 3, "witnesses that are near each other are one range");
	tap_int((int)livepieces_code(&s, at[1])->checked_tick, 7, "when they were proven");
	livepieces_prove(&s, &memory, at, 4, 8);
	tap_ok(at[2]->code == LIVEPIECE_NO_CODE, "a piece that cannot be read has changed");
	tap_ok(at[0]->code != LIVEPIECE_NO_CODE && at[1]->code != LIVEPIECE_NO_CODE &&
	       at[3]->code != LIVEPIECE_NO_CODE, "those before and after it have not");
	bytes[201] = 1;
	bytes[9] = 1;
	struct livepiece *rest[] = { at[3], at[1], at[0] };
	livepieces_prove(&s, &memory, rest, 3, 9);
	tap_ok(at[0]->code == LIVEPIECE_NO_CODE && at[1]->code == LIVEPIECE_NO_CODE,
	       "each witness of a range counts");
	tap_ok(at[3]->code != LIVEPIECE_NO_CODE, "bytes between two witnesses do not");
	livepieces_done(&s);
	return tap_done();
}
