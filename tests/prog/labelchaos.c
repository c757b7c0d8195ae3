/*
 * Overwrites its own label memory (cprof-labels.h) with random numbers, pointers into itself, and
 * pointers to nothing, while it runs: a hostile program that is profiled.
 *
 * usage: labelchaos [CPU_MILLISECONDS [SEED]]
 */
#include "cprof-labels.h"

#include "prog.h"

#include <stdlib.h>

static uint32_t state;

static uint32_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

PROG_NOINLINE static void work(void)
{
	prog_work(100000);
	PROG_KEEP_FRAME();
}

/* One value that a reader must not believe. */
static uint64_t bad_value(void)
{
	switch (next_random() % 6) {
	case 0:
		return (uint64_t)next_random() << 32 | next_random();
	case 1:
		return UINT64_MAX - next_random() % 64;
	case 2:
		return (uint64_t)(uintptr_t)&cprof_labels_registry + next_random() % 4096;
	case 3:
		return (uint64_t)(uintptr_t)&state;
	case 4:
		return next_random() % 4096;
	default:
		return 0;
	}
}

/* Words of the registry, except those that the labels' own functions need in this process. */
PROG_NOINLINE static void overwrite(void)
{
	struct cprof_labels_registry *r = &cprof_labels_registry;
	struct cprof_labels_thread *t = cprof_labels_self.thread;
	for (int i = 0; i < 8; i++) {
		uint64_t bad = bad_value();
		void *pointer = (void *)(uintptr_t)bad;
		switch (next_random() % 6) {
		case 0:
			__atomic_store_n(&r->used, bad, __ATOMIC_RELAXED);
			break;
		case 1:
			__atomic_store_n(&r->n_threads, (uint32_t)bad, __ATOMIC_RELAXED);
			break;
		case 2:
			r->chunk[next_random() % CPROF_LABELS_CHUNKS] = pointer;
			break;
		case 3:
			r->slab[1 + next_random() % (CPROF_LABELS_SLABS - 1)] = pointer;
			break;
		case 4:
			r->clock = (uint32_t)bad;
			break;
		default:
			if (!t)
				break;
			t->entry[next_random() % CPROF_LABELS_RING] = (struct cprof_labels_entry){
				bad, (uint32_t)bad_value(), (uint32_t)bad_value()
			};
			__atomic_store_n(&t->head, bad_value(), __ATOMIC_RELEASE);
		}
	}
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t end_ns = prog_arg(argc, argv, 1, 500) * 1000000;
	state = (uint32_t)prog_arg(argc, argv, 2, 1) * 2654435761u | 1;
	cprof_label_set("task", "work");
	for (unsigned n = 0; prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns; n++) {
		work();
		if (n % 2)
			overwrite();
	}
	prog_print_cpu();
	_exit(0);
}
