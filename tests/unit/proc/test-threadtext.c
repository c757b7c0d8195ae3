/* Texts of /proc/PID/task/TID: those of real kernels, and names that look like something else. */
#include "proc/threadtext.h"
#include "tests/unit/tap.h"

#include <stdio.h>
#include <string.h>

#define REST " 1 19279 7347 0 -1 4194304 1188 0 1 0 0 1 0 0 20 0 1001 0 2542850 72437760 2401 " \
	"18446744073709551615 1 1 1 0 0 0 0 6 0 1 0 0 17 3 0 0 0 0 0 1 1 1 1 1 1 1 0\n"

static void test_stat(void)
{
	struct threadtext_stat s;
	tap_ok(threadtext_stat("12 (thr) S" REST, &s), "stat");
	tap_str(s.name, "thr", "its name");
	tap_ok(s.state == 'S' && s.cpu == 3 && !s.is_kernel, "its state and CPU");
	tap_ok(s.stack_start == 0, "the place of its stack, which is hidden");
	tap_ok(threadtext_stat("12 (t) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 25 1 1 9 1 1 "
			       "140721946042336 0 0\n", &s) && s.stack_start == 140721946042336,
	       "and one that is not");
	tap_ok(threadtext_stat("12 (a) R 1 (b)) D" REST, &s) && s.state == 'D',
	       "a name with parentheses");
	tap_str(s.name, "a) R 1 (b)", "is found by the last one");
	tap_ok(threadtext_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0\n", &s) && s.is_kernel &&
	       s.cpu == UINT32_MAX, "a thread of the kernel, in a text that is cut");
	tap_ok(!threadtext_stat("12 thr S 1", &s), "without parentheses");
	tap_ok(!threadtext_stat("12 (thr)", &s), "without a state");
	tap_ok(!threadtext_stat("", &s), "an empty text");
}

static void test_sched(void)
{
	static const char good[] = "thr (12, #threads: 9)\n---------------\n"
		"se.exec_start                                :      25603892.737884\n"
		"se.vruntime                                  :        369032.751241\n";
	static const char fake[] = "\nse.exec_start : 1.000000\n (12, #threads: 9)\n------\n"
		"se.exec_start                                :             7.000009\n";
	uint64_t ns = 5;
	tap_ok(threadtext_sched(good, &ns) && ns == 25603892737884, "sched");
	tap_ok(threadtext_sched(fake, &ns) && ns == 7000009, "a name that looks like a line");
	ns = 5;
	tap_ok(!threadtext_sched("a\n----\nse.vruntime : 1.000000\n", &ns), "without the time");
	tap_ok(!threadtext_sched("a\n----\nse.exec_start : 1.0000\n", &ns), "five digits");
	tap_ok(!threadtext_sched("a\n----\nse.exec_start : -1.000000\n", &ns), "a negative time");
	tap_ok(!threadtext_sched("a\n----\nse.exec_start : 99999999999999999999.000000\n", &ns),
	       "a time that is too large");
	tap_ok(ns == 5, "leave the result alone");
}

static void test_others(void)
{
	char wait[] = "futex_do_wait", none[] = "0\n";
	tap_str(threadtext_wchan(wait), "futex_do_wait", "wchan");
	tap_str(threadtext_wchan(none), "", "wchan of a thread that runs, or that is hidden");
	tap_str(threadtext_state('D'), "disk sleep", "a state");
	tap_str(threadtext_state('?'), "unknown", "another letter");
}

int main(void)
{
	test_stat();
	test_sched();
	test_others();
	return tap_done();
}
