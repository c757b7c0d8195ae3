/* The scenarios in C; truth.h explains the notation of chains. */
#include "truth.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef TRUTH_CONTEXTS
#include <ucontext.h>
#endif

static uint64_t truth_limit_ms;

TRUTH_FN static void leaf(void)
{
	prog_work(TRUTH_LEAF_STEPS);
}

/* ---- calls ---------------------------------------------------------------------------- */

TRUTH_FN static void plain3(void)
{
	TRUTH_ROUNDS(1000, leaf());
	TRUTH_END();
}

TRUTH_FN static void plain2(void)
{
	plain3();
	TRUTH_END();
}

TRUTH_FN static void plain1(void)
{
	plain2();
	TRUTH_END();
}

/* Five functions in turn: a lost or duplicated frame breaks the order. */
TRUTH_FN static void turn0(int n);
TRUTH_FN static void deep0(int n);

#define TURN(name, next, after) \
	TRUTH_FN static void name(int n) \
	{ \
		if (n > 0) \
			next(n - 1); \
		after; \
		TRUTH_END(); \
	}
TURN(turn4, turn0, leaf())
TURN(turn3, turn4, leaf())
TURN(turn2, turn3, leaf())
TURN(turn1, turn2, leaf())
TURN(turn0, turn1, leaf())

TRUTH_FN static void turns(void)
{
	TRUTH_ROUNDS(10, turn0(199));
	TRUTH_END();
}

/* 10 000 frames and more than 550 KB of stack, with work on the way down and at the bottom, like a
 * parser of nested text. */
#define DEEP(name, next) \
	TRUTH_FN static void name(int n) \
	{ \
		volatile char frame[40]; \
		frame[0] = (char)n; \
		TRUTH_ROUNDS(40, leaf()); \
		if (n > 0) \
			next(n - 1); \
		else \
			TRUTH_ROUNDS(1000000, leaf()); \
		frame[1] = frame[0]; \
	}
DEEP(deep4, deep0)
DEEP(deep3, deep4)
DEEP(deep2, deep3)
DEEP(deep1, deep2)
DEEP(deep0, deep1)

TRUTH_FN static void deep(void)
{
	deep0(9999);
	TRUTH_END();
}

/* Uses all callee-saved registers, so that prologue and epilogue are long. */
TRUTH_FN static uint64_t pushes(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				uint64_t f)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c) : :
#if defined(__aarch64__)
			 "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30"
#else
			 "rbx", "r12", "r13", "r14", "r15"
#if defined(__OPTIMIZE__) && !defined(TRUTH_FP)
			 , "rbp"
#endif
#endif
	);
	return a ^ b ^ c ^ d ^ e ^ f;
}

TRUTH_FN static void push_loop(void)
{
	TRUTH_ROUNDS(20000, pushes(1, 2, 3, 4, 5, (uint64_t)round_));
	TRUTH_END();
}

/* With optimisation this is a jump, and the caller is not in the chain. */
#ifdef __OPTIMIZE__
#define TAIL_END()
#define TAIL_CHAIN "main tail_top tail3 leaf"
#else
#define TAIL_END() TRUTH_END()
#define TAIL_CHAIN "main tail_top tail1 tail2 tail3 leaf"
#endif

TRUTH_FN static void tail3(long n)
{
	TRUTH_ROUNDS(n, leaf());
	TRUTH_END();
}

TRUTH_FN static void tail2(long n)
{
	tail3(n + 1);
	TAIL_END();
}

TRUTH_FN static void tail1(long n)
{
	tail2(n + 1);
	TAIL_END();
}

TRUTH_FN static void tail_top(void)
{
	TRUTH_ROUNDS(200, tail1(5));
	TRUTH_END();
}

TRUTH_FN __attribute__((noreturn)) static void never(void)
{
	for (;;) {
		TRUTH_ROUNDS(1000, leaf());
		if (truth_cpu_ms() >= truth_limit_ms)
			_exit(0);
	}
}

/* The call is the last instruction: the return address is in the next function. */
TRUTH_FN static void last_call(void)
{
	never();
}

TRUTH_FN static double sums(int n, ...)
{
	va_list args;
	double sum = 0;
	va_start(args, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(args, double);
	TRUTH_ROUNDS(20, leaf());
	va_end(args);
	return sum;
}

TRUTH_FN static void varargs(void)
{
	volatile double x = 2;
	TRUTH_ROUNDS(50, x = sums(9, x, 2., 3., 4., 5., 6., 7., 8., 9.) / 100);
}

/* ---- frames of unusual sizes and shapes --------------------------------------------- */

TRUTH_FN static void allocas(void)
{
	for (size_t i = 0; i < 50; i++) {
		volatile char *p = alloca(16 + i * 24);
		p[0] = 1;
		TRUTH_ROUNDS(20, leaf());
		p[1] = p[0];
	}
}

TRUTH_FN static void vla(size_t n)
{
	volatile char v[n];
	v[n - 1] = 1;
	TRUTH_ROUNDS(20, leaf());
	v[0] = v[n - 1];
}

TRUTH_FN static void vlas(void)
{
	TRUTH_ROUNDS(50, vla((size_t)round_ * 100 + 1));
	TRUTH_END();
}

TRUTH_FN static void aligned2(size_t n)
{
	volatile char a[64] __attribute__((aligned(64)));
	volatile char *p = alloca(n);
	p[0] = a[0] = 1;
	TRUTH_ROUNDS(20, leaf());
	a[1] = p[0];
}

TRUTH_FN static void aligned1(int a, int b, int c, int d, int e, int f, int g, int h)
{
	volatile int x[16] __attribute__((aligned(128)));
	x[0] = a + b + c + d + e + f + g + h;
	aligned2((size_t)x[0]);
	x[1] = x[0];
}

TRUTH_FN static void aligns(void)
{
	TRUTH_ROUNDS(50, aligned1(1, 2, 3, 4, 5, 6, round_, 8));
	TRUTH_END();
}

TRUTH_FN static void big(void)
{
	volatile char frame[200 << 10];
	frame[0] = frame[sizeof(frame) - 1] = 1;
	TRUTH_ROUNDS(1000, leaf());
	frame[1] = frame[0];
}

TRUTH_FN static void bigs(void)
{
	big();
	TRUTH_ROUNDS(100, leaf());
	TRUTH_END();
}

/* ---- through foreign code ------------------------------------------------------------ */

TRUTH_FN static int compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

TRUTH_FN static void sorts(void)
{
	int v[100];
	for (int i = 0; i < 100; i++)
		v[i] = i * 37 % 101;
	qsort(v, 100, sizeof(*v), compare);
}

static jmp_buf jump_to;

TRUTH_FN static void jump3(void)
{
	TRUTH_ROUNDS(10, leaf());
	longjmp(jump_to, 1);
}

TRUTH_FN static void jump2(void)
{
	jump3();
	TRUTH_END();
}

TRUTH_FN static void jump1(void)
{
	for (volatile int i = 0; i < 100; i++)
		if (!setjmp(jump_to))
			jump2();
}

TRUTH_FN static void clocks(void)
{
	struct timespec ts;
	TRUTH_ROUNDS(2000, clock_gettime(CLOCK_MONOTONIC, &ts));
	TRUTH_END();
}

static char text[8] = "abcdefg";
static volatile size_t text_sum;

TRUTH_FN static void plts(void)
{
	char copy[16];
	for (int i = 0; i < 2000; i++) {
		char *volatile p = text;
		text_sum += strlen(p) + (size_t)abs((int)text_sum) + (size_t)strcmp(p, text);
		text_sum += (size_t)atoi(strcpy(copy, p));
	}
}

TRUTH_FN static void syscalls(void)
{
	TRUTH_ROUNDS(500, getppid());
	TRUTH_END();
}

TRUTH_FN static void faults(void)
{
	const size_t n_bytes = 64 * 4096;
	volatile char *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < n_bytes; i += 4096)
		p[i] = 1;
	munmap((void *)p, n_bytes);
}

void mid_fp(void (*call)(void));
void mid_nofp(void (*call)(void));

TRUTH_FN static void called(void)
{
	leaf();
	TRUTH_END();
}

TRUTH_FN static void calls_fp(void)
{
	mid_fp(called);
	TRUTH_END();
}

TRUTH_FN static void calls_nofp(void)
{
	mid_nofp(called);
	TRUTH_END();
}

/* ---- signals ---------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

TRUTH_FN static void on_raise(int signo)
{
	(void)signo;
	TRUTH_ROUNDS(500, leaf());
	TRUTH_END();
}

TRUTH_FN static void raises(void)
{
	signal(SIGUSR1, on_raise);
	raise(SIGUSR1);
	TRUTH_END();
}

TRUTH_FN static void on_alarm(int signo)
{
	(void)signo;
	TRUTH_ROUNDS(5000, leaf());
	handled = 1;
}

TRUTH_FN static void interrupted(void)
{
	struct itimerval t = { .it_value = { 0, 300 } };
	handled = 0;
	setitimer(ITIMER_REAL, &t, NULL);
	while (!handled)
		leaf();
}

TRUTH_FN static void alarms(void)
{
	signal(SIGALRM, on_alarm);
	interrupted();
	TRUTH_END();
}

/* The same on a separate stack. */
static char alternate[1 << 16] __attribute__((aligned(16)));

TRUTH_FN static void alarms_alt(void)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };
	sigaltstack(&ss, NULL);
	sigaction(SIGALRM, &sa, NULL);
	interrupted();
	TRUTH_END();
}

/* ---- threads and other stacks ------------------------------------------------------------- */

TRUTH_FN static void work2(void)
{
	TRUTH_ROUNDS(200000, leaf());
	TRUTH_END();
}

TRUTH_FN static void work1(void)
{
	work2();
	TRUTH_END();
}

TRUTH_FN static void *worker(void *arg)
{
	work1();
	TRUTH_END();
	return arg;
}

TRUTH_FN static void threads(void)
{
	pthread_t t;
	pthread_create(&t, NULL, worker, NULL);
	pthread_join(t, NULL);
}

#ifdef TRUTH_CONTEXTS
static ucontext_t outside, inside;
static char inside_stack[1 << 16] __attribute__((aligned(16)));

TRUTH_FN static void coroutine2(void)
{
	TRUTH_ROUNDS(500, leaf());
	swapcontext(&inside, &outside);
	TRUTH_ROUNDS(500, leaf());
}

TRUTH_FN static void coroutine1(void)
{
	coroutine2();
	TRUTH_END();
}

TRUTH_FN static void coroutine(void)
{
	coroutine1();
	TRUTH_END();
}

TRUTH_FN static void contexts(void)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = inside_stack;
	inside.uc_stack.ss_size = sizeof(inside_stack);
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	swapcontext(&outside, &inside);
	swapcontext(&outside, &inside);
}
#endif

/* ---- all of them -------------------------------------------------------------------------- */

static const struct truth_scenario scenarios[] = {
	{ "plain", plain1, { "main plain1 plain2 plain3 leaf" } },
	{ "turns", turns, { "main turns (turn0 turn1 turn2 turn3 turn4)*40 ^leaf" } },
	{ "deep", deep, { "main deep (deep0 deep1 deep2 deep3 deep4)*2000 ^leaf" } },
	{ "pushes", push_loop, { "main push_loop pushes" } },
	{ "tails", tail_top, { TAIL_CHAIN } },
	{ "noreturn", last_call, { "main last_call never leaf",
		"main last_call never truth_cpu_ms prog_clock_ns ~" } },
	{ "varargs", varargs, { "main varargs sums leaf" } },
	{ "allocas", allocas, { "main allocas leaf" } },
	{ "vlas", vlas, { "main vlas vla leaf" } },
	{ "aligns", aligns, { "main aligns aligned1 aligned2 leaf" } },
	{ "bigs", bigs, { "main bigs big leaf", "main bigs leaf" } },
	{ "sorts", sorts, { "main sorts ~ compare leaf" } },
	{ "longjmps", jump1, { "main jump1 jump2 jump3 leaf" } },
	{ "clocks", clocks, { "main clocks ~" } },
	{ "plts", plts, { "main plts ~" } },
	{ "syscalls", syscalls, { "main syscalls ~" } },
	{ "faults", faults, { "main faults", "main faults ~" } },
	{ "mid-fp", calls_fp, { "main calls_fp mid_fp called leaf" } },
	{ "mid-nofp", calls_nofp, { "main calls_nofp mid_nofp called leaf" } },
	{ "raises", raises, { "main raises ~ on_raise leaf" } },
	{ "alarms", alarms, { "main alarms interrupted leaf ~ on_alarm leaf",
		"main alarms interrupted ~ on_alarm leaf" } },
	{ "alarms-alt", alarms_alt, { "main alarms_alt interrupted leaf ~ on_alarm leaf",
		"main alarms_alt interrupted ~ on_alarm leaf" } },
	{ "threads", threads, { "main threads ~", "worker work1 work2 leaf" } },
#ifdef TRUTH_CONTEXTS
	{ "contexts", contexts, { "main contexts ~", "coroutine coroutine1 coroutine2 leaf" } },
#endif
};

/* It must align its stack. */
int main(int argc, char **argv)
{
	volatile char wide[64] __attribute__((aligned(64)));
	wide[0] = 1;
	TRUTH_MAIN(scenarios, argc, argv);
	wide[1] = wide[0];
}
