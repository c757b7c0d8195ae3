/*
 * jitcode SHAPE CPU_MS: main calls run, run calls code that it has written to memory, and that
 * calls work, which uses CPU.  Two of the shapes keep no frame pointer, like Python's trampolines
 * for perf. Compiled with -fomit-frame-pointer, so no frame pointer can be used.
 *
 * On x86-64, and similarly on arm64:
 *
 * "trampoline": sub $8, %rsp; call *%rdi; add $8, %rsp; ret
 * "pushes":     push %rbx; push %rbp; sub $24, %rsp; call *%rdi; ...
 * "framed":     push %rbp; mov %rsp, %rbp; sub $64, %rsp; call *%rdi; leave; ret
 */

#include "prog.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
static const struct shape {
	const char *name;
	uint8_t n_bytes, code[32];
} shapes[] = {
	{ "trampoline", 11, { 0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3 } },
	{ "pushes", 15, { 0x53, 0x55, 0x48, 0x83, 0xec, 24, 0xff, 0xd7, 0x48, 0x83, 0xc4, 24, 0x5d,
			  0x5b, 0xc3 } },
	{ "framed", 12, { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 64, 0xff, 0xd7, 0xc9, 0xc3 } },
};

#elif defined(__aarch64__)
static const struct shape {
	const char *name;
	uint8_t n_bytes;
	uint32_t code[8];
} shapes[] = {
	/* str x30, [sp, #-16]!; blr x0; ldr x30, [sp], #16; ret */
	{ "trampoline", 16, { 0xf81f0ffe, 0xd63f0000, 0xf84107fe, 0xd65f03c0 } },
	/* stp x19, x29, [sp, #-48]!; str x30, [sp, #32]; blr x0; ...: a pair without x30 */
	{ "pushes", 24, { 0xa9bd77f3, 0xf90013fe, 0xd63f0000, 0xf94013fe, 0xa8c377f3,
			  0xd65f03c0 } },
	/* sub sp, sp, #64; stp x29, x30, [sp, #48]; add x29, sp, #48; blr x0; ... */
	{ "framed", 28, { 0xd10103ff, 0xa9037bfd, 0x9100c3fd, 0xd63f0000, 0xa9437bfd, 0x910103ff,
			  0xd65f03c0 } },
};
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static PROG_NOINLINE void work(void)
{
	prog_work(20000);
	__asm__ volatile("");
}

/* An invalid frame pointer while the code runs. */
static PROG_NOINLINE void run(void (*code)(void (*)(void)), uint64_t odd)
{
#ifdef __aarch64__
	__asm__ volatile("mov x28, x29; mov x29, %0; mov x0, %1; blr %2; mov x29, x28"
			 : : "r"(odd), "r"(work), "r"(code)
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x28", "x30", "cc", "memory");
#else
	__asm__ volatile("mov %0, %%rbp; mov %1, %%rdi; call *%2" : : "b"(odd), "r"(work), "r"(code)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11",
			   "cc", "memory");
#endif
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct shape *s = NULL;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (strcmp(name, shapes[i].name) == 0)
			s = &shapes[i];
	if (!s || p == MAP_FAILED)
		return 64;
	memcpy(p + 64, s->code, s->n_bytes);
	__builtin___clear_cache((char *)p + 64, (char *)p + 64 + s->n_bytes);
	void (*code)(void (*)(void));
	p += 64;
	memcpy(&code, &p, sizeof(code));
	uint64_t cpu_ns = prog_arg(argc, argv, 2, 200) * 1000000u;
	while (prog_cpu_ns() < cpu_ns)
		run(code, 0x123456789);
	prog_print_cpu();
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
