#include "engine/waits-reason.h"

#include "source/record.h"

const struct waits_reason_function waits_reason_function[WAITS_N_FUNCTIONS] = {
	{ "do_futex", WAITS_FOR_LOCK, true }, { "futex_wait_multiple", WAITS_FOR_LOCK, false },
	{ "hrtimer_nanosleep", WAITS_FOR_TIME, false },
	{ "io_schedule", WAITS_FOR_DISK, false },
	{ "io_schedule_timeout", WAITS_FOR_DISK, false },
	{ "kernel_clone", WAITS_FOR_CHILD, false }, { "_do_fork", WAITS_FOR_CHILD, false },
};

const struct waits_code *waits_reason_code(const struct waits *w, const struct record *r)
{
	for (uint64_t i = 0; i < r->sample.n_callchain; i++)
		for (size_t k = 0; k < WAITS_CODE_MAX && w->code[k].end; k++)
			if (r->sample.callchain[i] - w->code[k].start <
			    w->code[k].end - w->code[k].start)
				return &w->code[k];
	return NULL;
}

enum waits_reason waits_reason_of(const struct waits *w, const struct record *r)
{
	const struct waits_code *code = waits_reason_code(w, r);
	return code ? code->reason : WAITS_FOR_ANYTHING;
}
