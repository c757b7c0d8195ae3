/* Where the other stack begins in the kernel's callchain, and up to where it is accepted. */

#include "stack/stack-switch.h"
#include "source/record.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-file.h"
#include "tap.h"
#include "tests/unit/symbolize/goprogram.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#define SP 0x7000u
#define GOROUTINE 0xc000100000u

static struct cfi *cfi;
static struct stack_switch outer;
static struct runtime_file *file;

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	*ret = (struct module){ .cfi = ctx, .file = file };
	return pc >= GOCODE_TEXT && pc < GOPROGRAM_END;
}

/* A sample in func1, called by systemstack, with that frame pointer, callchain and stack. */
static void follow(uint64_t fp, const uint64_t *chain, uint64_t n_chain, bool is_switch)
{
	/* func1's frame, 24 bytes, and above it the thread's own stack */
	const uint64_t stack[] = { 0, GOROUTINE, GOPROGRAM_SYSTEMSTACK_RA, 0 };
	const struct unwind_frame frame[] = {
		{ .pc = GOPROGRAM_FUNC1 + 14, .sp = SP, .flags = UNWIND_FRAME_EXACT },
		{ .pc = GOPROGRAM_SYSTEMSTACK_RA, .sp = SP + 24,
		  .flags = is_switch ? UNWIND_FRAME_SWITCH : 0 },
	};
	struct unwind_regs regs = { .valid = 0 };
	regs.r[arch_x86_64.sp] = SP;
	regs.r[arch_x86_64.fp] = fp;
	const struct unwind_input in = { .regs = &regs, .stack = (const uint8_t *)stack,
					 .n_stack_bytes = sizeof(stack), .ctx = cfi, .space = 1 };
	const struct unwind_result r = { .frame = frame, .n = 2, .end = UNWIND_ROOT };
	const struct record record = { .sample = { .callchain = chain, .n_callchain = n_chain } };
	stack_switch_follow(&outer, &arch_x86_64, find_module, &in, &record, &r);
}

#define KERNEL (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000u
#define USER (uint64_t)PERF_CONTEXT_USER, GOPROGRAM_FUNC1 + 14
#define N(a) (sizeof(a) / sizeof(*(a)))

static void is_followed(uint64_t fp, const uint64_t *chain, uint64_t n_chain, uint32_t n,
			uint64_t between, bool is_whole, const char *what)
{
	follow(fp, chain, n_chain, true);
	tap_ok(outer.n == n &&
		       (!n || (outer.between == between && outer.is_whole == is_whole)),
	       "%s: %u, %#llx, %d", what, outer.n, (unsigned long long)outer.between,
	       outer.is_whole);
}

int main(void)
{
	struct goprogram g;
	goprogram_make(&g, GOPROGRAM_1_20, false);
	int fd = gocode_file(&(struct gocode){ .machine = EM_X86_64,
		.table = { g.table, g.n_table },
		.text = { goprogram_code, sizeof(goprogram_code) } });
	if (fd < 0 || cfi_open_file(fd, &cfi) < 0 || !(file = runtime_file_new(cfi)))
		abort();
	const uint64_t all[] = { KERNEL, USER, GOPROGRAM_SYSTEMSTACK_RA, GOPROGRAM_OUTER_RA,
				 GOPROGRAM_GOEXIT + 1 };
	const uint64_t framed[] = { USER, GOPROGRAM_SYSTEMSTACK_RA, GOPROGRAM_WORKER_RA2,
				    GOPROGRAM_OUTER_RA, GOPROGRAM_GOEXIT + 1, 0x1234 };
	const uint64_t early[] = { USER, GOPROGRAM_OUTER_RA, GOPROGRAM_GOEXIT + 1 };
	const uint64_t cut[] = { USER, GOPROGRAM_SYSTEMSTACK_RA, GOPROGRAM_OUTER_RA };
	const uint64_t stray[] = { USER, GOPROGRAM_SYSTEMSTACK_RA, GOPROGRAM_OUTER_RA, 0x1234,
				   GOPROGRAM_GOEXIT + 1 };
	const uint64_t bad[] = { USER, GOPROGRAM_SYSTEMSTACK_RA, 0x1234, GOPROGRAM_GOEXIT + 1 };
	for (int i = 0; i < 2; i++)
		is_followed(SP + 8, all, N(all), 2, GOPROGRAM_WORKER_RA2, true,
			    i ? "the same, from the cache" : "the chain lacks the direct caller");
	is_followed(SP + 8, framed, N(framed), 3, 0, true, "the chain has the direct caller");
	is_followed(GOROUTINE, early, N(early), 2, GOPROGRAM_WORKER_RA2, true,
		    "before the frame is set up");
	is_followed(SP + 8, early, N(early), 0, 0, false,
		    "a chain that differs from the frame pointers in the copy");
	is_followed(SP + 8, cut, N(cut), 1, GOPROGRAM_WORKER_RA2, false,
		    "a chain that is truncated");
	is_followed(SP + 8, stray, N(stray), 1, GOPROGRAM_WORKER_RA2, false,
		    "a chain that leads astray later");
	is_followed(SP + 8, bad, N(bad), 0, 0, false, "a chain that leads astray at once");
	is_followed(SP + 8, all, 2, 0, 0, false, "the kernel's part of a chain only");
	is_followed(SP + 8, all, 3, 0, 0, false, "an empty user part");
	is_followed(SP + 8, NULL, 0, 0, 0, false, "no callchain");
	tap_ok(outer.n_switched == 11 && outer.n_followed == 6,
	       "continued stacks are counted: %u of %u",
	       (unsigned)outer.n_followed, (unsigned)outer.n_switched);
	follow(SP + 8, all, N(all), false);
	tap_ok(outer.n == 0 && outer.n_switched == 11,
	       "a root that has not switched stacks stays the root");
	stack_switch_done(&outer);
	runtime_file_free(file);
	cfi_close(cfi);
	close(fd);
	return tap_done();
}
