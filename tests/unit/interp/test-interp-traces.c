/* Calls by the frames that functions have left in memory. */

#include "interp/interp-traces.h"

#include "interp/interp-base.h"
#include "interp/interp-calls.h"
#include "interp/interp-ops.h"
#include "tap.h"

#define OUTER 9u                        /* calls native code */
#define NAMELESS 8u                     /* called by what its callers do not name */
#define BASE 0x1000u

/* Frames in memory; caller: the address of its frame. */
static struct { uint64_t at, caller; uint32_t code; } frame[8];
static struct interp_calls calls;

static bool trace(void *ctx, uint64_t at, uint32_t *ret_code, uint64_t *ret_caller)
{
	for (size_t i = 0; i < 8; i++) {
		if (!frame[i].at || frame[i].at != at)
			continue;
		*ret_code = frame[i].code;
		*ret_caller = frame[i].caller;
		return true;
	}
	return false;
}

static bool may_call(void *ctx, uint32_t code, uint32_t other)
{
	return other != NAMELESS;
}

/* Function 3 has 30 bytes, and so on. */
static enum interp_frames_where where(void *ctx, uint32_t code, uint32_t *ret_bytes)
{
	*ret_bytes = code * 10;
	return INTERP_FRAMES_STACKED;
}

static const struct interp_runtime runtime = {
	.trace = trace, .may_call = may_call, .frames_where = where,
};

static void put(size_t i, uint64_t at, uint32_t code, uint64_t caller)
{
	frame[i].at = at;
	frame[i].code = code;
	frame[i].caller = caller;
}

static void forget(void)
{
	interp_calls_done(&calls);
	calls = (struct interp_calls){ .v = { 0 } };
}

int main(void)
{
	static const struct interp_runtime other = { .frames_where = where };
	const struct interp_base base = { .at = BASE, .outer_code = OUTER, .line = 7 };
	/* 1 has called 2, which has called 3 and, later, the nameless one */
	put(0, BASE, 1, 0);
	put(1, BASE + 10, 2, BASE);
	put(2, BASE + 30, 3, BASE + 10);
	interp_traces_above(&calls, &runtime, 1, BASE);
	tap_ok(interp_calls_has(&calls, 1, 2) && interp_calls_has(&calls, 2, 3),
	       "what a function has called, and what that has called");
	tap_ok(!interp_calls_has_first(&calls, &base, 1), "nothing is known of native code");
	forget();

	interp_traces_above(&calls, &runtime, 4, BASE - 30);
	tap_ok(!calls.v.n, "not if the frame has another caller");
	put(1, BASE + 20, 2, BASE);
	interp_traces_above(&calls, &runtime, 1, BASE);
	tap_ok(!calls.v.n, "nor if it does not begin where the frame of its caller ends");
	put(1, BASE + 10, NAMELESS, BASE);
	interp_traces_above(&calls, &runtime, 1, BASE);
	tap_ok(!calls.v.n, "nor if the caller does not name it");
	interp_calls_add(&calls, 1, NAMELESS);
	put(2, BASE + 90, 3, BASE + 10);
	interp_traces_above(&calls, &runtime, 1, BASE);
	tap_ok(interp_calls_has(&calls, NAMELESS, 3), "unless it is known to have called it");
	forget();

	put(1, BASE + 10, 2, BASE);
	put(2, BASE + 30, 3, BASE + 10);
	interp_traces_below(&calls, &runtime, &base, 3, BASE + 30);
	tap_ok(interp_calls_has(&calls, 1, 2) && interp_calls_has(&calls, 2, 3),
	       "who has called a function");
	tap_ok(!interp_calls_has_first(&calls, &base, 1),
	       "native code may have called another one before");
	forget();
	interp_traces_below(&calls, &runtime, &base, 4, BASE + 30);
	interp_traces_below(&calls, &runtime, &base, 2, BASE);
	tap_ok(!calls.v.n, "not if another function is there");
	interp_traces_below(&calls, &runtime, &base, 1, BASE);
	tap_ok(interp_calls_has_first(&calls, &base, 1), "native code has called the sample's own");
	forget();
	put(1, BASE + 10, 2, BASE + 30);
	interp_traces_below(&calls, &runtime, &base, 3, BASE + 30);
	put(3, BASE + 60, 4, BASE + 60);
	interp_traces_below(&calls, &runtime, &base, 4, BASE + 60);
	tap_ok(!interp_calls_has_first(&calls, &base, 1), "frames that lead back to themselves");
	forget();
	tap_ok(interp_traces_has(&runtime, 1, BASE, 0) &&
	       interp_traces_has(&runtime, 2, BASE + 10, BASE + 30),
	       "who has called a function last");
	tap_ok(!interp_traces_has(&runtime, 2, BASE, 0) &&
	       !interp_traces_has(&runtime, 1, BASE, 8) &&
	       !interp_traces_has(&other, 1, BASE, 0), "not another one, nor without frames");
	interp_traces_above(&calls, &other, 1, BASE);
	interp_traces_below(&calls, &other, &base, 3, BASE + 30);
	tap_ok(!calls.v.n, "where frames do not follow each other, nothing is learned");
	return tap_done();
}
