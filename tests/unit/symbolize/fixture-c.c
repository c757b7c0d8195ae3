/*
 * For test-symbolizer and tests/symbols: functions with known names, inlining and lines.  The
 * comment MARK-x is on the line where the address in marks[] was taken.  With an argument the
 * program prints these addresses, which in a file linked with -no-pie are those in the file.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

/* The current address. */
#ifdef __aarch64__
#define HERE() ({ void *here_; __asm__ volatile("adr %0, ." : "=r"(here_)); here_; })
#else
#define HERE() ({ void *here_; __asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(here_)); here_; })
#endif

volatile unsigned sink;
void *marks[8];

INLINE void innermost(unsigned x)
{
	sink += x;
	marks[0] = HERE();                              /* MARK-innermost */
	sink ^= x;
}

INLINE void middle(unsigned x)
{
	sink += 2 * x;
	innermost(x + 1);                               /* MARK-call-innermost */
	sink += 3;
}

NOINLINE void outer(unsigned x)
{
	for (unsigned i = 0; i < x; i++)
		middle(i);                              /* MARK-call-middle */
}

static NOINLINE int local_function(int x)
{
	marks[1] = HERE();                              /* MARK-local */
	return x * (int)sink;
}

NOINLINE int global_function(int x)
{
	marks[2] = HERE();                              /* MARK-global */
	return local_function(x) + 1;
}

/* A function with another name in the object file. */
int renamed(int x) __asm__("assembler_name");
NOINLINE int renamed(int x)
{
	marks[3] = HERE();                              /* MARK-renamed */
	return x ^ (int)sink;
}

extern __typeof__(global_function) weak_alias __attribute__((weak, alias("global_function")));

/* Code without a size, and a label inside a function that has one. */
__asm__(".text\n"
	".globl asm_without_size, asm_label\n"
	".type asm_without_size, %function\n"
	"asm_without_size:\n"
	"	nop\n"
	"	nop\n"
	"	ret\n"
	".globl asm_with_size\n"
	".type asm_with_size, %function\n"
	"asm_with_size:\n"
	"	nop\n"
	"asm_label:\n"
	"	nop\n"
	"	ret\n"
	".size asm_with_size, .-asm_with_size\n"
	/* and one that ends the code before a function without any symbol */
	".globl asm_code_end\n"
	"asm_code_end:\n"
	"	nop\n"
	".cfi_startproc\n"
	"	nop\n"
	"	nop\n"
	"	ret\n"
	".cfi_endproc\n");

/* Functions of another shared object, for linker stubs. */
NOINLINE int use_libc(const char *s)
{
	char *copy = strdup(s);
	int n = copy ? (int)strlen(copy) + abs(*copy) : 0;
	free(copy);
	return n;
}

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return x < y ? -1 : x > y;
}

NOINLINE void sort_some(int *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_int);
	if (n > 1000000) {
		for (size_t i = 0; i < n; i++)
			middle((unsigned)v[i]);
		abort();
	}
}

extern char asm_without_size[], asm_with_size[], asm_label[], asm_code_end[];

static void print_marks(void)
{
	printf("innermost %p\nlocal %p\nglobal %p\nrenamed %p\n", marks[0], marks[1], marks[2],
	       marks[3]);
	printf("asm_without_size %p\nasm_with_size %p\nasm_label %p\nasm_code_end %p\n",
	       (void *)asm_without_size, (void *)asm_with_size, (void *)asm_label,
	       (void *)asm_code_end);
	printf("strdup_stub %p\n", (void *)strdup);
}

int main(int argc, char **argv)
{
	int v[16] = { 3, 1, 2 };
	outer((unsigned)argc + 2);
	sort_some(v, 16);
	int n = global_function(argc) + use_libc(argv[0]) + v[0] + renamed(argc);
	if (argc > 1)
		print_marks();
	return n == -1;
}
