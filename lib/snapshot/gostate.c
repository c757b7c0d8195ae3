/*
 * A goroutine whose wait has ended is runnable until it gets a thread.  One that was preempted,
 * that has given its thread back or that has not run yet is runnable, too, and its reason to wait
 * is that of some earlier wait.  But all goroutines that wait go on at the same place, in
 * runtime.gopark, and no others do.
 */

#include "snapshot/gostate.h"

#include "symbolize/runtime/go-layout.h"

#include <string.h>

/* Others wait for time, for input and output, or are the runtime's own. */
static const char *const lock_reasons[] = {
	"chan receive", "chan send", "chan receive (nil chan)", "chan send (nil chan)", "select",
	"select (no cases)", "semacquire", "sync.Cond.Wait", "sync.Mutex.Lock",
	"sync.RWMutex.Lock", "sync.RWMutex.RLock", "sync.WaitGroup.Wait",
};

void gostate_init(struct gostate *x, const struct go_reasons *reasons)
{
	*x = (struct gostate){ .park_pc = 0 };
	for (unsigned int i = 0; i < reasons->n && i < GO_REASONS_MAX; i++)
		for (size_t k = 0; k < sizeof(lock_reasons) / sizeof(*lock_reasons); k++)
			x->is_lock[i] |= strcmp(reasons->text[i], lock_reasons[k]) == 0;
}

enum waits_task_state gostate_of(struct gostate *x, const struct go_g *g)
{
	bool waits = g->status == GO_WAITING || g->status == GO_LEAKED;
	bool is_lock = g->wait_reason < GO_REASONS_MAX && x->is_lock[g->wait_reason];
	if (waits && is_lock) {
		x->park_pc = g->sched_pc;
		return WAITS_TASK_LOCKED;
	}
	if (g->status == GO_RUNNABLE && is_lock && x->park_pc && g->sched_pc == x->park_pc)
		return WAITS_TASK_READY;
	return waits || g->status == GO_SYSCALL ? WAITS_TASK_ELSEWHERE : WAITS_TASK_RUNS;
}
