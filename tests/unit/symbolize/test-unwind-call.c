/* What code says of a frame's caller: functions of this program, and the CFI that it has. */

#include "symbolize/unwind-call.h"
#include "symbolize/unwind-slow.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

/* NAME: some instructions with their CFI, then the label NAME_pc. */
#define FUNCTION(name, body) \
	__asm__(".text\n\t.type " #name ", %function\n" #name ":\n\t.cfi_startproc\n\t" body \
		"\n" #name "_pc:\n\tnop\n\tret\n\t.cfi_endproc\n\t.size " #name ", . - " #name); \
	extern const char name##_pc[]

#if defined(__x86_64__)
#define ARCH CFI_X86_64
FUNCTION(by_register, "push %rbx\n\t.cfi_adjust_cfa_offset 8\n\tmov %rdi, %rsp");
FUNCTION(by_r12, "mov %r12, %rsp");
FUNCTION(by_memory, "mov %fs:0, %rax\n\tmov 0x38(%rax), %rsp\n\tcall *%rdx");
FUNCTION(usual, "push %rbp\n\t.cfi_adjust_cfa_offset 8\n\tmov %rsp, %rbp\n\tmov %rsp, %rax\n\t"
		"mov %rdi, %r12\n\tmov (%rdi), %r12\n\tmov %rbp, %rsp\n\tmov %esp, %eax");
FUNCTION(by_fp, "push %rbp\n\tmov %rsp, %rbp\n\t.cfi_def_cfa %rbp, 16\n\tmov %rbx, %rsp");
#elif defined(__aarch64__)
#define ARCH CFI_ARM64
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

static bool find_module(void *ctx, uint64_t pc, struct unwind_module *ret)
{
	struct self *s = ctx;
	if (pc < s->start || pc >= s->end)
		return false;
	*ret = (struct unwind_module){ .cfi = s->cfi, .bias = s->bias, .id = 1 };
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
	tap_ok(is_switched(ADDRESS(by_register_pc), 0), "asked again");
	tap_ok(is_switched(ADDRESS(by_register_pc) + 1, UNWIND_FRAME_EXACT), "interrupted there");
	tap_ok(!is_switched(ADDRESS(by_register_pc) - 1, UNWIND_FRAME_EXACT), "but not before");
	tap_ok(is_switched(ADDRESS(by_r12_pc), 0), "from any register");
	tap_ok(is_switched(ADDRESS(by_memory_pc), 0), "from memory");
	tap_ok(!is_switched(ADDRESS(usual_pc), 0), "prologues and epilogues are none");
	tap_ok(!is_switched(ADDRESS(by_fp_pc), 0),
	       "nor is a variable array, whose CFA goes by the frame pointer");
	tap_ok(!is_switched(0x10, 0), "nor what lies in no module");
}

static void test_calls(void)
{
	uint64_t pc = ADDRESS(called) + 1;
	calls();
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_called) ==
	       UNWIND_CALL_OF_IT, "a call of the function");
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_other) ==
	       UNWIND_CALL_OF_ANOTHER, "of another");
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, pc) == UNWIND_CALL_OF_ANOTHER,
	       "no call");
	calls_by_pointer();
	tap_ok(unwind_call_before(ARCH, find_module, &self, pc, ra_of_called) ==
	       UNWIND_CALL_INDIRECT, "by a pointer");
}

int main(void)
{
	dl_iterate_phdr(note_self, &self);
	int fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || cfi_open_file(fd, &self.cfi) < 0)
		return 1;
	test_switches();
	test_calls();
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
