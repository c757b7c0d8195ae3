/*
 * The least that a preloaded library can cost: its malloc(3) and free(3) test nothing and only jump
 * to those of glibc, directly, as the dormant library does (lib/preload/alloc-jumps.c).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096

/* An indirect jump has six bytes, which a direct one replaces. */
__asm__(".text\n"
	".p2align 12\n"
	"mallocjump_start:\n"
	".globl malloc, free\n"
	".type malloc, @function\n"
	".type free, @function\n"
	"malloc:	jmp *__libc_malloc@GOTPCREL(%rip)\n"
	"	.p2align 6\n"
	"free:	jmp *__libc_free@GOTPCREL(%rip)\n"
	"	.p2align 12\n");
extern unsigned char mallocjump_start[] __attribute__((visibility("hidden")));

static void make_direct(unsigned char *at, const char *name)
{
	intptr_t n = (intptr_t)dlsym(RTLD_NEXT, name) - (intptr_t)(at + 5);
	if (n != (int32_t)n)
		return;
	at[0] = 0xe9;
	for (int i = 0; i < 4; i++)
		at[1 + i] = (unsigned char)(n >> 8 * i);
}

__attribute__((constructor)) static void start(void)
{
	if (mprotect(mallocjump_start, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return;
	make_direct(mallocjump_start, "malloc");
	make_direct(mallocjump_start + 64, "free");
	mprotect(mallocjump_start, PAGE, PROT_READ | PROT_EXEC);
}
