/* Plays vmlinux, or with -DPART_MODULE a module.  Marks are symbols in the code. */
__asm__(".text\n.globl _stext\n_stext:\n");

#define MARK(name) \
	__asm__ volatile(".globl mark_" #name "\nmark_" #name ":\n\tnop\n" : : : "memory")

static inline __attribute__((always_inline)) int innermost(int x)
{
	MARK(inner); return x * 3;                           /* MARK-inner */
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return innermost(x + 1) + 2;                         /* MARK-middle */
}

#ifdef PART_MODULE
__attribute__((noinline)) int module_outer(int x)
{
	return middle(x) + 5;                                /* MARK-module-outer */
}

/* In a section of its own, which the kernel may put anywhere. */
__attribute__((noinline, section(".text.other"))) int module_other(int x)
{
	MARK(other); return module_outer(x) + 1;             /* MARK-other */
}
#else
__attribute__((noinline)) int kernel_outer(int x)
{
	return middle(x) + 5;                                /* MARK-kernel-outer */
}

void _start(void)
{
	static volatile int sink;
	sink = kernel_outer(sink);
}

/* Assembler: only the symbol table has it. */
__asm__(".text\n.globl asm_entry\n.type asm_entry, STT_FUNC\nasm_entry:\n.space 16\n"
	".size asm_entry, 16\n.globl _etext\n_etext:\n");
#endif
