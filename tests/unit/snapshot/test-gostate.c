/* Goroutines that wait for another one, and those that only look as if they did. */

#include "snapshot/gostate.h"
#include "symbolize/runtime/go-layout.h"
#include "tests/unit/tap.h"

#define PARK 0x1000u
#define ELSEWHERE 0x2000u

enum { ZERO, RECEIVE, SLEEP, LOCK, N_REASONS };

static const struct go_reasons reasons = {
	.n = N_REASONS,
	.text = { "", "chan receive", "sleep", "sync.Mutex.Lock" },
};

static struct gostate state;

static enum waits_task_state of(uint32_t status, uint8_t reason, uint64_t pc)
{
	return gostate_of(&state, &(struct go_g){
		.status = status, .wait_reason = reason, .sched_pc = pc });
}

static void test_waits(void)
{
	gostate_init(&state, &reasons);
	tap_int(of(GO_WAITING, RECEIVE, PARK), WAITS_TASK_LOCKED, "a channel");
	tap_int(of(GO_LEAKED, LOCK, PARK), WAITS_TASK_LOCKED, "a lock that nobody can release");
	tap_int(of(GO_WAITING, SLEEP, PARK), WAITS_TASK_ELSEWHERE, "time");
	tap_int(of(GO_WAITING, GO_REASONS_MAX, PARK), WAITS_TASK_ELSEWHERE, "an unknown reason");
	tap_int(of(GO_SYSCALL, LOCK, ELSEWHERE), WAITS_TASK_ELSEWHERE, "a system call");
	tap_int(of(GO_RUNNING, LOCK, PARK), WAITS_TASK_RUNS, "it runs");
}

static void test_ready(void)
{
	gostate_init(&state, &reasons);
	tap_int(of(GO_RUNNABLE, LOCK, PARK), WAITS_TASK_RUNS,
		"before one was seen waiting, nothing is known");
	of(GO_WAITING, SLEEP, ELSEWHERE);
	of(GO_WAITING, LOCK, PARK);
	tap_int(of(GO_RUNNABLE, RECEIVE, PARK), WAITS_TASK_READY, "its wait has ended");
	tap_int(of(GO_RUNNABLE, LOCK, ELSEWHERE), WAITS_TASK_RUNS,
		"it was preempted after an earlier wait");
	tap_int(of(GO_RUNNABLE, SLEEP, PARK), WAITS_TASK_RUNS, "it has slept");
	tap_int(of(GO_RUNNABLE, ZERO, ELSEWHERE), WAITS_TASK_RUNS, "it has not run yet");
}

int main(void)
{
	test_waits();
	test_ready();
	return tap_done();
}
