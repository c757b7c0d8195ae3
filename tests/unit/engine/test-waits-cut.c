/* Samples that are kept for what lies beyond their copies. */
#include "base/budget.h"
#include "engine/waits-cut.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <string.h>

/* perf's registers of x86-64: bp, the stack pointer and the pc */
#define MASK (1u << 6 | 1u << 7 | 1u << 8)
#define SP 7

static struct record sample(const uint64_t *reg, const uint64_t *chain, uint64_t n_chain)
{
	return (struct record){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL,
		.sample = {
			.ip = 0xffff0010, .user_regs = reg, .user_regs_mask = MASK,
			.user_abi = PERF_SAMPLE_REGS_ABI_64, .callchain = chain,
			.n_callchain = n_chain,
		},
	};
}

static void test_kept(struct budget *b)
{
	uint64_t reg[] = { 0x7100, 0x7000, 0x10010 };
	uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffff0010, 0xffff0020, PERF_CONTEXT_USER, 1 };
	struct waits_cut *c = NULL;
	struct record r = sample(reg, chain, 5), again = { .type = PERF_RECORD_SAMPLE };
	tap_ok(waits_cut_keep(&c, b, &r), "a sample is kept");
	memset(reg, 0, sizeof(reg));
	memset(chain, 0, sizeof(chain));
	tap_int((long long)waits_cut_sp(c, SP), 0x7000, "its stack pointer");
	tap_int((long long)waits_cut_sp(c, SP + 8), 0, "a register that it lacks");
	waits_cut_use(c, &again);
	tap_ok(again.sample.user_regs_mask == MASK && again.sample.user_regs[2] == 0x10010 &&
	       again.sample.user_abi == PERF_SAMPLE_REGS_ABI_64, "all registers");
	tap_ok(again.sample.n_callchain == 3 && again.sample.callchain[2] == 0xffff0020 &&
	       again.sample.ip == 0xffff0010 && again.misc == PERF_RECORD_MISC_KERNEL,
	       "the kernel's part of the stack, without the user's");

	const uint64_t other[] = { 0x8100, 0x8000, 0x10020 };
	const uint64_t user[] = { PERF_CONTEXT_USER, 1 };
	struct waits_cut *before = c;
	r = sample(other, user, 2);
	tap_ok(waits_cut_keep(&c, b, &r) && c == before, "the next one takes its place");
	waits_cut_use(c, &again);
	tap_int((long long)waits_cut_sp(c, SP), 0x8000, "with its own words");
	tap_int((long long)again.sample.n_callchain, 0, "and without a kernel part");
	waits_cut_free(c, b);
}

static void test_unusual(struct budget *b)
{
	static uint64_t deep[1000];
	const uint64_t reg[] = { 0x7100, 0x7000, 0x10010 };
	struct waits_cut *c = NULL;
	struct record r = sample(NULL, NULL, 0), again = { .type = PERF_RECORD_SAMPLE };
	tap_ok(!waits_cut_keep(&c, b, &r) && !c, "a sample without registers");
	r = sample(reg, NULL, 0);
	r.sample.user_abi = PERF_SAMPLE_REGS_ABI_32;
	tap_ok(!waits_cut_keep(&c, b, &r) && !c, "or of 32-bit code");
	deep[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	r = sample(reg, deep, sizeof(deep) / sizeof(*deep));
	tap_ok(waits_cut_keep(&c, b, &r), "a kernel's part that is longer than any real one");
	waits_cut_use(c, &again);
	tap_int((long long)again.sample.n_callchain, 0, "is left out");
	waits_cut_free(c, b);
	waits_cut_free(NULL, b);
}

int main(void)
{
	struct budget b;
	budget_init(&b, 0);
	test_kept(&b);
	test_unusual(&b);
	tap_int((long long)b.used_bytes, 0, "everything was released");
	return tap_done();
}
