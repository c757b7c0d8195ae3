/* Callers found by code: functions of this program and their CFI. */

#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind-slow.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAME: some instructions with their CFI, then the label NAME_pc. */
#define FUNCTION(name, body) \
	__asm__(".text\n\t.type " #name ", %function\n" #name ":\n\t.cfi_startproc\n\t" body \
		"\n" #name "_pc:\n\tnop\n\tret\n\t.cfi_endproc\n\t.size " #name ", . - " #name); \
	extern const char name##_pc[]

#if defined(__x86_64__)
#define ARCH (&arch_x86_64)
FUNCTION(by_register, "push %rbx\n\t.cfi_adjust_cfa_offset 8\n\tmov %rdi, %rsp");
FUNCTION(by_r12, "mov %r12, %rsp");
FUNCTION(by_memory, "mov %fs:0, %rax\n\tmov 0x38(%rax), %rsp\n\tcall *%rdx");
FUNCTION(usual, "push %rbp\n\t.cfi_adjust_cfa_offset 8\n\tmov %rsp, %rbp\n\tmov %rsp, %rax\n\t"
		"mov %rdi, %r12\n\tmov (%rdi), %r12\n\tmov %rbp, %rsp\n\tmov %esp, %eax");
FUNCTION(by_fp, "push %rbp\n\tmov %rsp, %rbp\n\t.cfi_def_cfa %rbp, 16\n\tmov %rbx, %rsp");
FUNCTION(root, ".cfi_undefined %rip\n\tnop");
FUNCTION(outer, "sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall catcher");
#define FRAMED "push %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_offset %rbp, -16\n\t" \
	"mov %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"
FUNCTION(catcher, FRAMED "call thrower");
FUNCTION(thrower, FRAMED "call returner");
/* as __builtin_eh_return makes them */
FUNCTION(returner, ".cfi_adjust_cfa_offset 56\n\t.cfi_offset %rbp, -16\n\t"
		   ".cfi_offset %rdx, -24\n\t.cfi_offset %rax, -32");
FUNCTION(leaver, ".cfi_adjust_cfa_offset 56\n\t.cfi_offset %rbp, -16\n\t"
		 ".cfi_offset %rdx, -24\n\t.cfi_offset %rax, -32\n\tnop\n\tnop\n\tnop\n\tnop");
FUNCTION(catches, FRAMED "call *%rax");
FUNCTION(throws, FRAMED "call *%rax");
FUNCTION(left, ".cfi_offset %rdx, -24\n\t.cfi_offset %rax, -32");
FUNCTION(handles, FRAMED "call left\n\tpop %rbp\n\t.cfi_def_cfa %rsp, 8\n\tret\n\t"
			 ".cfi_def_cfa %rbp, 16");
FUNCTION(calls_never, "sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall never");
__asm__(".text\n\t.type never, %function\nnever:\n\tpush %rbx\n\tsub $24, %rsp\n"
	"never_pc:\n\thlt\n\tjmp never_pc\n\t.size never, . - never");
extern const char never_pc[];
/* as in boost.context: the entry of a coroutine, and its return address */
FUNCTION(coroutine, "push %rbx\n\t.cfi_adjust_cfa_offset 8");
__asm__(".text\n\tpush %rbp\n\tjmp *%rbx\ncoroutine_end:\n\txor %rdi, %rdi\n\tcall never\n\thlt");
extern const char coroutine_end[];
/* as in libcrypto: the CFA is relative to a caller-saved register or to a word below sp */
FUNCTION(calls_keeps, "sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall keeps");
FUNCTION(keeps, "mov %rsp, %rax\n\t.cfi_def_cfa_register %rax\n\tpush %rbx\n\tcall kept");
FUNCTION(kept, "push %rbx\n\t.cfi_adjust_cfa_offset 8");
FUNCTION(calls_below, "sub $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall below");
FUNCTION(below, ".cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8\n\tnop");
#elif defined(__aarch64__)
#define ARCH (&arch_arm64)
FUNCTION(by_register, "stp x29, x30, [sp, #-16]!\n\t.cfi_adjust_cfa_offset 16\n\tmov sp, x1");
FUNCTION(by_r12, "mov sp, x12");
FUNCTION(by_memory, "ldr x0, [x28, #56]\n\tmov sp, x0\n\tblr x3");
FUNCTION(usual, "mov x29, sp\n\tmov x0, sp\n\tadd sp, sp, #0\n\tmov sp, x29\n\tadd x1, x2, #0");
FUNCTION(by_fp, "mov x29, sp\n\t.cfi_def_cfa x29, 0\n\tmov sp, x9");
#endif

#ifdef ARCH

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

#define ADDRESS(x) ((uint64_t)(uintptr_t)(x))

static uint64_t ra_of_called, ra_of_other;

#define CALLEE(name) \
	static void __attribute__((noinline)) name(void) \
	{ \
		ra_of_##name = ADDRESS(__builtin_return_address(0)); \
		__asm__ volatile(""); \
	}
CALLEE(called)
CALLEE(other)

static void __attribute__((noinline)) calls(void)
{
	called();
	__asm__ volatile("");
	other();
	__asm__ volatile("");
}

static void __attribute__((noinline)) calls_by_pointer(void)
{
	void (*volatile pointer)(void) = called;
	pointer();
	__asm__ volatile("");
}

static struct self self;
static struct unwind_call_cache cache;

static bool is_switched(uint64_t pc, uint32_t flags)
{
	struct unwind_frame frame = { .pc = pc, .flags = flags };
	struct unwind_input in = { .ctx = &self, .space = 1 };
	struct unwind_walk w = { .arch = ARCH, .in = &in, .find_module = find_module,
		.frame = &frame, .n = 1, .calls = &cache };
	return unwind_call_is_switched(&w, 0);
}

static void test_switches(void)
{
	tap_ok(is_switched(ADDRESS(by_register_pc), 0), "a function that loads the stack pointer");
	tap_ok(is_switched(ADDRESS(by_register_pc), 0), "the answer is cached");
	tap_ok(is_switched(ADDRESS(by_register_pc) + 1, UNWIND_FRAME_EXACT),
	       "interrupted after the load");
	tap_ok(!is_switched(ADDRESS(by_register_pc) - 1, UNWIND_FRAME_EXACT),
	       "but not before the load");
	tap_ok(is_switched(ADDRESS(by_r12_pc), 0), "from any register");
	tap_ok(is_switched(ADDRESS(by_memory_pc), 0), "from memory");
	tap_ok(!is_switched(ADDRESS(usual_pc), 0), "prologues and epilogues do not switch stacks");
	tap_ok(!is_switched(ADDRESS(by_fp_pc), 0),
	       "nor does a variable array, whose CFA is relative to the frame pointer");
	tap_ok(!is_switched(0x10, 0), "nor does an address outside all modules");
}

static void test_calls(void)
{
	uint64_t pc = ADDRESS(called) + 1;
	calls();
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_called) ==
	       UNWIND_CALL_OF_IT, "a call of this function");
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_other) ==
	       UNWIND_CALL_OF_ANOTHER, "a call of another function");
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, pc) == UNWIND_CALL_OF_ANOTHER,
	       "no call");
	calls_by_pointer();
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_called) ==
	       UNWIND_CALL_INDIRECT, "a call through a pointer");
}

#if defined(__x86_64__)

#define SP 0x7ffc00001000ull
#define AT(i) (SP + 8ull * (i))

static uint64_t rax;

static const uint64_t *stack_at(uint64_t pc, uint64_t fp, const uint64_t *stack, size_t n,
				struct unwind_result *ret)
{
	static uint64_t pcs[8];
	static struct unwind *u;
	struct unwind_options o = { .arch = ARCH, .find_module = find_module };
	struct unwind_regs regs = { .valid = ~0ull };
	struct unwind_input in = { .regs = &regs, .stack = (const uint8_t *)stack,
		.n_stack_bytes = n * 8, .ctx = &self, .space = 1 };
	unwind_free(u);
	u = unwind_new(&o);
	if (!u)
		abort();
	regs.r[16] = pc;
	regs.r[7] = SP;
	regs.r[6] = fp;
	regs.r[0] = rax;
	unwind_stack(u, &in, NULL, ret);
	memset(pcs, 0, sizeof(pcs));
	for (uint32_t i = 0; i < ret->n && i < 8; i++)
		pcs[i] = ret->frame[i].pc;
	return pcs;
}

static void test_handlers(void)
{
	struct unwind_result r;
	uint64_t stack[24] = { 0 };
	/* returner: words 0 .. 7, thrower 8 .. 13, catcher 14 .. 17, outer 18 .. 19 */
	stack[6] = AT(16);      /* already the catcher's, no longer the thrower's */
	stack[7] = ADDRESS(thrower_pc);
	stack[9] = AT(16);      /* dead: a function that the catcher called before */
	stack[10] = ADDRESS(outer_pc);
	stack[12] = AT(16);
	stack[13] = ADDRESS(catcher_pc);
	stack[16] = 0;
	stack[17] = ADDRESS(outer_pc);
	stack[19] = ADDRESS(root_pc);
	const uint64_t *pc = stack_at(ADDRESS(returner_pc), 0, stack, 24, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 5 && pc[1] == ADDRESS(thrower_pc) &&
		       pc[2] == ADDRESS(catcher_pc) && pc[3] == ADDRESS(outer_pc),
	       "the handler's frame pointer is not used for the function that throws");
	stack[6] = AT(12);
	pc = stack_at(ADDRESS(returner_pc), 0, stack, 24, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 5 && pc[2] == ADDRESS(catcher_pc),
	       "the frame pointer of that function is used");

	/* the context of the function, and the return address of the handler's function */
	stack[2] = AT(8);
	stack[3] = ADDRESS(throws_pc);
	stack[6] = AT(16);
	stack[7] = stack[13] = ADDRESS(catches_pc);
	pc = stack_at(ADDRESS(leaver_pc), 0, stack, 24, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 5 && pc[1] == ADDRESS(throws_pc) &&
		       pc[2] == ADDRESS(catches_pc) && pc[3] == ADDRESS(outer_pc),
	       "the return address of the handler's function is not used, either");

	memset(stack, 0, sizeof(stack));
	stack[0] = ADDRESS(handles_pc);
	stack[3] = ADDRESS(root_pc);
	pc = stack_at(ADDRESS(left_pc), AT(2), stack, 24, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 3 && pc[1] == ADDRESS(handles_pc) &&
		       r.frame[1].flags & UNWIND_FRAME_EXACT,
	       "a handler's address is exact and follows no call");
}

static void test_no_return(void)
{
	struct unwind_result r;
	uint64_t stack[8] = { 0 };
	stack[1] = ADDRESS(calls_never_pc); /* dead: an earlier call */
	stack[4] = ADDRESS(calls_never_pc);
	stack[6] = ADDRESS(root_pc);
	const uint64_t *pc = stack_at(ADDRESS(never_pc), 0, stack, 8, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 3 && pc[1] == ADDRESS(calls_never_pc) &&
		       r.frame[1].flags & UNWIND_FRAME_HEURISTIC,
	       "without CFI and return, the call of the function shows where its frame begins");
	stack[4] = ADDRESS(outer_pc);
	stack_at(ADDRESS(never_pc), 0, stack, 8, &r);
	tap_ok(r.end == UNWIND_NO_CFI && r.n == 1, "but not a call elsewhere on the stack");

	stack[1] = ADDRESS(coroutine_end);
	stack_at(ADDRESS(coroutine_pc), 1, stack, 8, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 1,
	       "the return address of a coroutine is not a frame");
	stack[1] = ADDRESS(coroutine_end) + 3;
	stack_at(ADDRESS(coroutine_pc), 1, stack, 8, &r);
	tap_ok(r.end == UNWIND_NO_CFI, "other code that follows no call is not the end");
}

static void test_elsewhere(void)
{
	struct unwind_result r;
	uint64_t stack[12] = { 0 };
	/* kept: words 0 and 1, keeps 2 and 3, calls_keeps 4 and 5 */
	stack[1] = ADDRESS(keeps_pc);
	stack[3] = ADDRESS(calls_keeps_pc);
	stack[5] = ADDRESS(root_pc);
	rax = AT(3);
	const uint64_t *pc = stack_at(ADDRESS(kept_pc), 0, stack, 12, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 4 && pc[2] == ADDRESS(calls_keeps_pc) &&
		       r.frame[2].flags & UNWIND_FRAME_HEURISTIC,
	       "a CFA in a caller-saved register that kept its value");
	rax = AT(1);
	stack_at(ADDRESS(kept_pc), 0, stack, 12, &r);
	tap_ok(r.end == UNWIND_BAD_CFI && r.n == 2, "not if it leads to no call of the function");
	rax = 0;

	memset(stack, 0, sizeof(stack));
	stack[0] = AT(1);       /* no return address there */
	stack[1] = AT(3) + 1;
	stack[2] = AT(6);
	stack[6] = ADDRESS(calls_below_pc);
	stack[8] = ADDRESS(root_pc);
	pc = stack_at(ADDRESS(below_pc), 0, stack, 12, &r);
	tap_ok(r.end == UNWIND_ROOT && r.n == 3 && pc[1] == ADDRESS(calls_below_pc) &&
		       r.frame[1].sp == AT(7) && r.frame[1].flags & UNWIND_FRAME_HEURISTIC,
	       "a CFA below the stack pointer whose copy is further up");
	stack[6] = ADDRESS(root_pc);
	stack_at(ADDRESS(below_pc), 0, stack, 12, &r);
	tap_ok(r.end == UNWIND_BAD_SP && r.n == 1, "but the return address must follow a call");
}

#else

static void test_elsewhere(void)
{
	tap_skip("elsewhere", "x86-64 only");
}

static void test_handlers(void)
{
	tap_skip("handlers", "x86-64 only");
}

static void test_no_return(void)
{
	tap_skip("no return", "x86-64 only");
}

#endif

int main(void)
{
	dl_iterate_phdr(note_self, &self);
	int fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || cfi_open_file(fd, &self.cfi) < 0)
		return 1;
	test_switches();
	test_calls();
	test_handlers();
	test_no_return();
	test_elsewhere();
	cfi_close(self.cfi);
	close(fd);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP not a machine that is unwound\n");
	return 0;
}

#endif
