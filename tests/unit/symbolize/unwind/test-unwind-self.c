/*
 * The unwinder on this program's own stack: registers and a copy of the stack are captured inside
 * callbacks, signal handlers, threads and unusual frames.  The result is compared with that of the
 * compiler's runtime at the same place.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/msan.h"
#include "tests/unit/tap.h"

#include <alloca.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <unwind.h>

#if defined(__x86_64__)
#define ARCH (&arch_x86_64)
#elif defined(__aarch64__)
#define ARCH (&arch_arm64)
#endif

#ifdef ARCH

#define N_PCS_MAX 600

struct mapped {
	uint64_t start, end, bias;
	struct cfi *cfi;
};

static struct mapped mapped[64];
static unsigned int n_modules;
static struct unwind *u;
static struct unwind_memo memo;
static uint8_t copy[2 << 20];

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct cfi *c = NULL;
	if (vdso && (uint64_t)vdso - info->dlpi_addr < 4096) {
		cfi_open_image(vdso, 8192, &c);
	} else {
		int fd = open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", O_RDONLY);
		if (fd >= 0)
			cfi_open_file(fd, &c);
	}
	for (int i = 0; i < info->dlpi_phnum && n_modules < 64; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			mapped[n_modules++] = (struct mapped){ info->dlpi_addr + p->p_vaddr,
				info->dlpi_addr + p->p_vaddr + p->p_memsz, info->dlpi_addr, c };
	}
	return 0;
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	(void)ctx;
	for (unsigned int i = 0; i < n_modules; i++) {
		if (pc < mapped[i].start || pc >= mapped[i].end)
			continue;
		*ret = (struct module){ .cfi = mapped[i].cfi, .bias = mapped[i].bias,
					.id = i };
		return true;
	}
	return false;
}

struct truth {
	uint64_t pc[N_PCS_MAX];
	uint32_t n;
};

static _Unwind_Reason_Code add_pc(struct _Unwind_Context *c, void *arg)
{
	struct truth *t = arg;
	if (t->n == N_PCS_MAX)
		return _URC_END_OF_STACK;
	uint64_t pc = _Unwind_GetIP(c);
	if (pc)
		t->pc[t->n++] = pc;
	return _URC_NO_REASON;
}

/* The number of mapped bytes from `at` upwards. */
static size_t stack_bytes(uint64_t at)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned long start, end, found = 0;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && at >= start && at < end)
			found = end - at;
	if (f)
		fclose(f);
	return found < sizeof(copy) ? found : sizeof(copy);
}

/* Reads the frames of other functions, so it must not be instrumented. */
static void __attribute__((noinline, no_sanitize("address"))) copy_stack(uint64_t from, size_t n)
{
	const volatile uint8_t *p = (const uint8_t *)from;
	for (size_t i = 0; i < n; i++)
		copy[i] = p[i];
	MSAN_WRITTEN(copy, n); /* including what no function has written */
}

static size_t n_copy_max = sizeof(copy);
static struct unwind_result r;
static struct truth t;

/* Captures registers here, unwinds, and lets the runtime walk from here. */
static void __attribute__((noinline)) snap(struct unwind_memo *m)
{
	static struct unwind_regs regs;
	uint64_t *p = regs.r;
#ifdef __x86_64__
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\tleaq 0f(%%rip), %%rax\n0:\n\tmovq %%rax, 128(%0)"
			 : : "r"(p) : "rax", "memory");
	regs.valid = 1 << 3 | 1 << 6 | 1 << 7 | 0xf << 12 | 1 << 16;
#else
	__asm__ volatile("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\tstp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\tstp x29, x30, [%0, #232]\n\t"
			 "mov x9, sp\n\tadr x10, 0f\n0:\n\tstp x9, x10, [%0, #248]"
			 : : "r"(p) : "x9", "x10", "memory");
	regs.valid = 0x1fff80000ull | 1ull << 31 | 1ull << 32;
#endif
	MSAN_WRITTEN(&regs, sizeof(regs));
	size_t n = stack_bytes(p[ARCH->sp]);
	if (n > n_copy_max)
		n = n_copy_max;
	copy_stack(p[ARCH->sp], n);
	struct unwind_input in = { .regs = &regs, .stack = copy, .n_stack_bytes = n, .space = 1 };
	unwind_stack(u, &in, m, &r);
	t.n = 0;
	_Unwind_Backtrace(add_pc, &t);
}

/* All pcs but the innermost, which is inside snap in both. */
static bool same(void)
{
	bool ok = r.n == t.n && r.n > 1;
	for (uint32_t i = 1; ok && i < r.n; i++)
		ok = r.frame[i].pc == t.pc[i];
	if (ok)
		return true;
	printf("# %s\n", unwind_end_name(r.end));
	for (uint32_t i = 0; i < r.n || i < t.n; i++)
		printf("# %2u %#14lx %#14lx\n", i, i < r.n ? (unsigned long)r.frame[i].pc : 0,
		       i < t.n ? (unsigned long)t.pc[i] : 0);
	return false;
}

static volatile unsigned int sink;

static void __attribute__((noinline)) leaf(void)
{
	snap(NULL);
	sink++;
}

static unsigned int __attribute__((noinline)) recurse(int n)
{
	unsigned int x = n ? recurse(n - 1) : (leaf(), 0);
	return x + sink;
}

static int compare(const void *a, const void *b)
{
	static bool done;
	if (!done) {
		done = true;
		leaf();
	}
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	leaf();
}

static void __attribute__((noinline)) with_alloca(size_t n)
{
	char *p = alloca(n);
	memset(p, 1, n);
	leaf();
	sink += (unsigned char)p[n - 1];
}

static void __attribute__((noinline)) with_big_frame(void)
{
	char big[200 << 10];
	memset(big, (int)sink, sizeof(big));
	leaf();
	sink += (unsigned char)big[sizeof(big) - 1];
}

static void __attribute__((noinline)) with_alignment(void)
{
	char big[256] __attribute__((aligned(128)));
	memset(big, (int)sink, sizeof(big));
	leaf();
	sink += (unsigned char)big[sizeof(big) - 1];
}

static void __attribute__((noinline)) with_both(size_t n)
{
	char big[256] __attribute__((aligned(64)));
	char *p = alloca(n);
	memset(big, (int)sink, sizeof(big));
	memset(p, 1, n);
	leaf();
	sink += (unsigned char)big[255];
}

static void __attribute__((noinline)) with_varargs(int n, ...)
{
	leaf();
	sink += (unsigned int)n;
}

static void *on_thread(void *arg)
{
	leaf();
	return arg;
}

static jmp_buf env;

static void __attribute__((noinline)) jump(void)
{
	sink++;
	longjmp(env, 1);
}

static void on_exit_callback(void)
{
	leaf();
}

/* ---- the memo, and an alternate stack ------------------------------------------------- */

static unsigned int n_wrong, n_same_frames;

static unsigned int __attribute__((noinline)) wander(unsigned int seed, int depth)
{
	snap(&memo);
	n_wrong += !same();
	n_same_frames += r.n_same;
	for (int i = 0; i < 3 && depth; i++)
		sink += wander(seed * 1103515245u + 12345u + (unsigned int)i, depth - 1);
	return sink;
}

static struct unwind_result in_handler;
static uint64_t handler_outer[8];

static void on_alternate(int sig)
{
	(void)sig;
	snap(&memo);
	in_handler = r;
	for (uint32_t i = 0; i < 8; i++)
		handler_outer[i] = i < r.n ? r.frame[r.n - 1 - i].pc : 0;
}

static void __attribute__((noinline)) interrupted(void)
{
	snap(&memo);
#ifdef __x86_64__
	__asm__ volatile("int3");
#endif
	sink++;
}

static void alternate(void)
{
	static uint8_t stack[256 << 10];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_handler = on_alternate, .sa_flags = SA_ONSTACK };
#ifndef __x86_64__
	tap_skip("alternate stack", "no trap instruction that is returned from");
	return;
#endif
	sigaltstack(&ss, NULL);
	sigaction(SIGTRAP, &a, NULL);
	uint64_t outer[8];
	/* the copy ends with the alternate stack */
	n_copy_max = 64 << 10;
	interrupted();
	uint32_t n = memo.n;
	for (uint32_t i = 0; i < 8; i++)
		outer[i] = i < n ? memo.frame[i].pc : 0;
	n_copy_max = sizeof(copy);
	tap_ok(in_handler.n_joined > 0 && in_handler.end == UNWIND_BEYOND,
	       "a stack below an alternate one is joined");
	bool ok = in_handler.n_joined < 8;
	for (uint32_t i = 0; i < in_handler.n_joined && i < 8; i++)
		ok = ok && handler_outer[i] == outer[i];
	tap_ok(ok, "it is joined to the frames that it had");
	sigaction(SIGTRAP, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

int main(void)
{
	struct unwind_options o = { .arch = ARCH, .find_module = find_module };
	dl_iterate_phdr(add_module, NULL);
	u = unwind_new(&o);
	tap_ok(u != NULL && n_modules > 0, "modules of this program");

	leaf();
	tap_ok(same(), "a call");
	tap_int(r.end, UNWIND_ROOT, "the stack reaches the root");
	recurse(200);
	tap_ok(same() && r.n > 200, "recursion");
	int v[] = { 3, 1, 2, 5, 4 };
	qsort(v, 5, sizeof(*v), compare);
	tap_ok(same(), "a callback from qsort");
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	bool has_signal = false;
	for (uint32_t i = 0; i < r.n; i++)
		has_signal |= (r.frame[i].flags & UNWIND_FRAME_SIGNAL) != 0;
	tap_ok(same() && has_signal, "a signal handler");
	with_alloca((size_t)sink * 100 + 1000);
	tap_ok(same(), "alloca");
	with_big_frame();
	tap_ok(same(), "a frame of 200 KiB");
	with_alignment();
	tap_ok(same(), "a realigned stack");
	with_both((size_t)sink * 10 + 100);
	tap_ok(same(), "a realigned stack with alloca");
	with_varargs(2, 1.5, "x");
	tap_ok(same(), "variable arguments");
	if (!setjmp(env))
		jump();
	leaf();
	tap_ok(same(), "after longjmp");
	pthread_t thread;
	if (pthread_create(&thread, NULL, on_thread, NULL) == 0)
		pthread_join(thread, NULL);
	tap_ok(same() && r.end == UNWIND_ROOT, "a thread");
	pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, on_exit_callback);
	tap_ok(same(), "pthread_once");

	wander(1, 6);
	tap_int(n_wrong, 0, "1093 stacks in a row with a memo");
	tap_ok(n_same_frames > 3 * 1093, "most of their frames were reused");
	alternate();
	unwind_memo_done(&memo);
	unwind_free(u);
	return tap_done();
}

#else

int main(void)
{
	tap_skip("the program's own stack", "no unwinder for this machine");
	return tap_done();
}

#endif
