/*
 * jitcode SHAPE CPU_MS: main calls run, run calls code that it has written into memory itself, and
 * that calls back to work, which uses CPU. Two of the shapes keep no frame pointer, as Python's
 * trampolines for perf; compiled with -fomit-frame-pointer, so that there is none to go by.
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

static PROG_NOINLINE void work(void)
{
	prog_work(20000);
	__asm__ volatile("");
}

/* A frame pointer that leads nowhere, while the code runs. */
static PROG_NOINLINE void run(void (*code)(void (*)(void)), uint64_t odd)
{
	__asm__ volatile("mov %0, %%rbp; mov %1, %%rdi; call *%2" : : "b"(odd), "r"(work), "r"(code)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11",
			   "cc", "memory");
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
