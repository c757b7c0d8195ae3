/*
 * Fires USDT probes of the provider `shop`, and prints how often the program saw that somebody uses
 * them.  usdt ROUNDS [WAIT]: with WAIT it first prints "ready" and its semaphore, and waits for a
 * line on stdin before the rounds, and for another after them.
 *
 * Each round i, from 1:
 *	shop:order(i % 4, 1000 * i, -i)  if the semaphore is set, at two locations: even and odd i
 *	shop:stack(i)                    its argument is on the stack
 *	shop:far(i)                      its argument is in static memory
 */
#include "prog.h"
#include "sdtnote.h"

__attribute__((section(".probes"), used)) volatile unsigned short shop_order_semaphore;

#define ORDER(kind, bytes, change) \
	__asm__ volatile(SDTNOTE("shop", "order", "shop_order_semaphore", \
				 "-4@%[k] 8@%[b] -8@%[c] 4@" NUMBER "7") \
			 :: [k] "r"(kind), [b] "r"(bytes), [c] "r"(change))

#ifdef __x86_64__
#define NUMBER "$"
#else
#define NUMBER ""
#endif

PROG_NOINLINE static void even(int i)
{
	ORDER((long)(i % 4), 1000l * i, -(long)i);
}

PROG_NOINLINE static void odd(int i)
{
	ORDER((long)(i % 4), 1000l * i, -(long)i);
}

PROG_NOINLINE static void fill(volatile long *at, long i)
{
	*at = i;
}

/* Calls another function, because leaf functions may have variables below the stack pointer. */
PROG_NOINLINE static void stack(long i)
{
	volatile long here;
	fill(&here, i);
	__asm__ volatile(SDTNOTE("shop", "stack", "0", "8@%[m]") :: [m] "m"(here));
}

PROG_NOINLINE static void far(long i)
{
	static volatile long there;
	there = i;
#ifdef __x86_64__
	__asm__ volatile(SDTNOTE("shop", "far", "0", "8@(%[p])") :: [p] "r"(&there) : "memory");
#else
	__asm__ volatile(SDTNOTE("shop", "far", "0", "8@[%[p]]") :: [p] "r"(&there) : "memory");
#endif
}

int main(int argc, char **argv)
{
	int n = (int)prog_arg(argc, argv, 1, 100), n_used = 0, waits = argc > 2;
	if (waits) {
		printf("ready %p\n", (void *)&shop_order_semaphore);
		fflush(stdout);
		getchar();
	}
	for (int i = 1; i <= n; i++) {
		if (shop_order_semaphore) {
			n_used++;
			if (i % 2)
				odd(i);
			else
				even(i);
		}
		stack(i);
		far(i);
	}
	printf("used %d\n", n_used);
	fflush(stdout);
	if (waits) {
		getchar();
		printf("semaphore %d\n", shop_order_semaphore);
	}
	return 0;
}
