/*
 * Stacks continued from memory: this process is the one that is recorded, a buffer its stack, and
 * its own functions call one another for the proofs.
 */

#include "base/err.h"
#include "base/host.h"
#include "stack/stack-memory.h"
#include "symbolize/cfi/cfi.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH (&arch_x86_64)
#elif defined(__aarch64__)
#define ARCH (&arch_arm64)
#endif

#ifdef ARCH

#define SECOND 1000000000ull

/* ---- reading ----------------------------------------------------------------------- */

static uint8_t pages[(4 << 20) + 64] __attribute__((aligned(4096)));
#define STACK (pages + 64)     /* copies of it do not end at a page's end */
#define STACK_BYTES (sizeof(pages) - 64)
static struct unwind_regs regs;

static struct unwind_input copy_of(uint8_t *copy, size_t n_bytes)
{
	regs.r[ARCH->sp] = (uint64_t)(uintptr_t)STACK;
	memcpy(copy, STACK, n_bytes);
	return (struct unwind_input){ .regs = &regs, .stack = copy, .n_stack_bytes = n_bytes };
}

static void test_reading(const struct host *host)
{
	static uint8_t copy[65536];
	struct stack_memory d;
	uint32_t pid = (uint32_t)getpid();
	for (size_t i = 0; i < STACK_BYTES; i++)
		STACK[i] = (uint8_t)(i * 7 + i / 256);
	stack_memory_init(&d, host, ARCH);
	struct unwind_input in = copy_of(copy, 8192);
	tap_ok(stack_memory_lengthen(&d, pid, SECOND, 0, &in) && in.n_stack_bytes > 8192 &&
	       in.n_stack_bytes < 65536, "the first step is short");
	tap_ok(memcmp(in.stack, STACK, in.n_stack_bytes) == 0, "its bytes are those in memory");
	uint64_t n = in.n_stack_bytes;
	tap_ok(stack_memory_lengthen(&d, pid, SECOND, 0, &in) && in.n_stack_bytes >= 4 * n &&
	       memcmp(in.stack, STACK, in.n_stack_bytes) == 0, "the next step is longer");
	while (stack_memory_lengthen(&d, pid, SECOND, 0, &in))
		;
	tap_ok(in.n_stack_bytes == 65536 + STACK_MEMORY_BYTES_MAX &&
	       memcmp(in.stack, STACK, in.n_stack_bytes) == 0, "the last step reaches the limit");

	in = copy_of(copy, 8192 - 64);
	tap_ok(stack_memory_lengthen(&d, pid, SECOND * 3 / 2, 0, &in) && in.n_stack_bytes > 100000,
	       "a copy that ends with a page, as before one that was never touched: a longer step");
	struct unwind_input small = copy_of(copy, 32);
	tap_ok(!stack_memory_lengthen(&d, pid, 2 * SECOND, 0, &small),
	       "a copy of a few bytes is not continued");
	in = copy_of(copy, 1000);
	tap_ok(stack_memory_lengthen(&d, pid, 2 * SECOND, (uint64_t)(uintptr_t)STACK + 300000,
				     &in) &&
		       in.n_stack_bytes > 300000,
	       "a single step reaches as far as needed");
	in = copy_of(copy, 1000);
	tap_ok(!stack_memory_lengthen(&d, pid, 3 * SECOND, (uint64_t)(uintptr_t)STACK - 8, &in) &&
		       !stack_memory_lengthen(&d, pid, 3 * SECOND,
					      (uint64_t)(uintptr_t)STACK + 64000000, &in) &&
		       in.stack == copy,
	       "nothing is read when no step can reach far enough");

	in = copy_of(copy, 8192);
	STACK[8191]++;
	tap_ok(!stack_memory_lengthen(&d, pid, 4 * SECOND, 0, &in) && in.stack == copy &&
	       in.n_stack_bytes == 8192, "a stack that has changed is not continued");
	STACK[8191]--;
	tap_ok(stack_memory_lengthen(&d, pid, 4 * SECOND, 0, &in),
	       "an unchanged stack is continued");
	in = copy_of(copy, 8192);
	tap_ok(!stack_memory_lengthen(&d, 0x7ffffff0, 5 * SECOND, 0, &in), "no such process");
	int n_reads = 0;
	for (; n_reads < 100000; n_reads++) {
		in = copy_of(copy, 8192);
		if (!stack_memory_lengthen(&d, pid, 6 * SECOND, 0, &in))
			break;
	}
	tap_ok(n_reads > 20 && n_reads < 1000, "the amount of memory that is read is limited");
	in = copy_of(copy, 8192);
	tap_ok(!stack_memory_lengthen(&d, pid, 6 * SECOND + 1000, 0, &in) &&
	       stack_memory_lengthen(&d, pid, 6 * SECOND + 1000000, 0, &in),
	       "the limit rises with time");
	stack_memory_done(&d);
	stack_memory_init(&d, NULL, ARCH);
	in = copy_of(copy, 8192);
	tap_ok(!stack_memory_lengthen(&d, pid, SECOND, 0, &in), "an import has no memory to read");
	stack_memory_done(&d);
}

/* ---- the proof ------------------------------------------------------------------------ */

struct self {
	struct cfi *cfi;
	uint64_t bias, start, end;
};

static int note_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct self *s = arg;
	(void)size;
	s->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			s->start = s->bias + info->dlpi_phdr[i].p_vaddr;
			s->end = s->start + info->dlpi_phdr[i].p_memsz;
		}
	return 1;  /* the first is the program */
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct self *s = ctx;
	if (pc < s->start || pc >= s->end)
		return false;
	*ret = (struct module){ .cfi = s->cfi, .bias = s->bias, .id = 1 };
	return true;
}

static uint64_t ra_direct, ra_indirect, ra_other;

#define CALLEE(name, var) \
	static void __attribute__((noinline)) name(void) \
	{ \
		var = (uint64_t)(uintptr_t)__builtin_return_address(0); \
		__asm__ volatile(""); \
	}
static uint64_t *ret_ra;
CALLEE(called, *ret_ra)
CALLEE(other, ra_other)

static void __attribute__((noinline)) calls(void)
{
	void (*volatile pointer)(void) = called;
	ret_ra = &ra_direct;
	called();
	__asm__ volatile("");
	other();
	__asm__ volatile("");
	ret_ra = &ra_indirect;
	pointer();
	__asm__ volatile("");
}

#define PC_IN(function) ((uint64_t)(uintptr_t)(function) + 1)

/* The frames `called` and its caller at ra, then that one's caller at ra2. */
static bool is_proved(struct self *s, uint64_t ra, uint64_t ra2, uint64_t copy_end,
		      const struct unwind_memo *memo)
{
	struct unwind_frame frame[3] = {
		{ .pc = PC_IN(called), .sp = 0x1000, .flags = UNWIND_FRAME_EXACT },
		{ .pc = ra, .sp = 0x2000 }, { .pc = ra2, .sp = 0x3000 },
	};
	struct unwind_result r = { .frame = frame, .n = ra2 ? 3 : 2 };
	return stack_memory_is_proved(ARCH, find_module, s, &r, memo, copy_end);
}

static void test_proof(void)
{
	struct self self = { .cfi = NULL };
	dl_iterate_phdr(note_self, &self);
	int fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || cfi_open_file(fd, &self.cfi) < 0) {
		tap_ok(false, "this program's CFI");
		return;
	}
	calls();
	tap_ok(is_proved(&self, ra_direct, 0, 0x1800, NULL),
	       "the return address follows a call of the function");
	tap_ok(!is_proved(&self, ra_other, 0, 0x1800, NULL),
	       "a call of another function proves nothing");
	tap_ok(!is_proved(&self, ra_direct + 1, 0, 0x1800, NULL),
	       "nor does an address that follows no call");
	tap_ok(!is_proved(&self, 0x10, 0, 0x1800, NULL), "nor an address in no module");
	tap_ok(!is_proved(&self, ra_indirect, 0, 0x1800, NULL), "nor a call through a pointer");
	struct unwind_frame known[2] = {
		{ .pc = ra_indirect, .sp = 0x9000 },
		{ .pc = PC_IN(called), .sp = 0x8000, .flags = UNWIND_FRAME_EXACT },
	};
	struct unwind_memo memo = { .frame = known, .n = 2, .is_whole = true };
	tap_ok(is_proved(&self, ra_indirect, 0, 0x1800, &memo),
	       "a call through a pointer that was seen before is accepted");
	known[1].pc = PC_IN(other);
	tap_ok(!is_proved(&self, ra_indirect, 0, 0x1800, &memo),
	       "but only as a call of that function");
	tap_ok(!is_proved(&self, ra_direct, 0, 0x2800, NULL),
	       "frames in the copy do not prove those beyond it");
	tap_ok(!is_proved(&self, ra_direct, ra_other, 0x1800, NULL),
	       "each call must be right: 'calls' is not called there");
	cfi_close(self.cfi);
	close(fd);
}

int main(void)
{
	tap_ok(stack_memory_is_due(0, 0) && stack_memory_is_due(15, 0),
	       "a few failures do not matter");
	tap_ok(!stack_memory_is_due(16, 200000) && !stack_memory_is_due(UINT32_MAX, 200000),
	       "many failures stop reading at high rates");
	tap_ok(stack_memory_is_due(UINT32_MAX, 1000000), "but not at 1000 samples per second");
	struct host host;
	struct err e;
	if (host_open(&host, NULL, NULL, NULL, &e) < 0)
		return 1;
	test_reading(&host);
	test_proof();
	host_close(&host);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP not a machine that is unwound\n");
	return 0;
}

#endif
