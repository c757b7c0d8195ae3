/* Functions of samples, with an interpreter that is a table: learning where its loop keeps things,
 * and what is believed of callers. */

#include "interp/interp-samples.h"

#include "base/clock.h"
#include "source/record.h"
#include "stack/stack-user.h"
#include "symbolize/arch/arch.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Function i has its instructions from here on, CODE_BYTES; its frames are at FRAME(depth). */
#define CODE(i) (0x100000u + 0x100u * (i))
#define CODE_BYTES 64u
#define FRAME(depth) (0x500000u + 0x100u * (depth))
#define CODES 8u

enum { RBX = 3, RBP = 6, R12 = 12, R13 = 13, R14 = 14, R15 = 15 };

/* The frames of the thread now, outermost first: functions. */
static uint32_t now[8];
static size_t n_now;
static bool is_moving;                  /* while it is read */

static uint32_t renew(void *ctx, uint64_t now_ns)
{
	return 0;
}

static void forget(void *ctx)
{
}

static void use_second(void *ctx)
{
	if (is_moving)
		now[n_now - 2] ^= 1;
}

static uint32_t code_of(void *ctx, uint64_t instruction, bool is_new, uint32_t *ret_off)
{
	for (uint32_t i = 0; i < CODES; i++)
		if (instruction - CODE(i) <= CODE_BYTES) {
			*ret_off = (uint32_t)(instruction - CODE(i));
			return i;
		}
	return INTERP_NO_CODE;
}

static bool is_shared(void *ctx, uint32_t code, uint32_t other)
{
	return code == other;
}

static bool is_same_line(void *ctx, uint32_t code, uint32_t off, uint32_t other)
{
	return true;
}

static bool chain(void *ctx, uint64_t at, struct interp_chain *ret)
{
	ret->link.n = ret->ends.n = 0;
	ret->is_whole = true;
	for (size_t i = n_now; i-- > 0;)
		if (FRAME(i) <= at &&
		    !VEC_PUSH(&ret->link, ((struct interp_link){ FRAME(i), now[i], 8 })))
			abort();
	return VEC_PUSH(&ret->ends, (uint32_t)ret->link.n);
}

static bool innermost(void *ctx, uint32_t tid, uint64_t *ret)
{
	*ret = n_now ? FRAME(n_now - 1) : 0;
	return true;
}

/* The id of a frame is its function's; 99: callers that are unknown. */
static uint32_t frame(void *ctx, uint32_t code, uint32_t off, bool has_line)
{
	return code;
}

static uint32_t unknown(void *ctx)
{
	return 99;
}

static const struct interp_runtime runtime = {
	.renew = renew, .forget = forget, .use_second = use_second, .code_of = code_of,
	.is_shared = is_shared, .is_same_line = is_same_line, .chain = chain,
	.innermost = innermost, .frame = frame, .unknown = unknown,
};

static struct interp_samples samples;
static struct interp_frames frames;

/* The thread executes these functions now: digits, outermost first. */
static void execute(const char *functions)
{
	for (n_now = 0; *functions; functions++)
		now[n_now++] = (uint32_t)(*functions - '0');
}

static bool is_calling;                 /* the instruction is in a slot only */

/* A sample some time ago: its loop had that function's instruction in r15, a frame in rbx, the
 * start of the function in r12, and a constant frame in r13; the slot below the CFA has the
 * instruction of an earlier call. */
static enum interp_quality sample(uint32_t function, uint32_t off, size_t depth, uint64_t age_ns)
{
	static struct stack_regs rules;
	static const bool is_loop[2] = { true, false };
	struct stack_user user = { .arch = &arch_x86_64 };
	const struct unwind_frame f[2] = {
		{ .pc = 0x400000, .sp = 0x7000, .flags = UNWIND_FRAME_EXACT }, { .sp = 0x7008 },
	};
	const uint64_t slot = CODE(function) + off / 8 * 8 + 2;
	struct stack_regs_walk walk = {
		.rules = &rules, .user = &user, .frame = f, .n = 2, .stack_at = 0x7000,
		.stack = (const uint8_t *)&slot, .n_stack_bytes = sizeof(slot),
	};
	walk.regs.r[R15] = is_calling ? 0 : CODE(function) + off;
	walk.regs.r[R12] = CODE(function);
	walk.regs.r[RBX] = FRAME(depth);
	walk.regs.r[R13] = FRAME(0);
	walk.regs.valid = 0x1ffff;
	const struct interp_samples_native n = {
		.walk = &walk, .is_loop = is_loop, .is_whole = true, .tid = 5,
		.time_ns = clock_monotonic_ns() - age_ns,
	};
	interp_samples_renew(&samples, &runtime, n.time_ns);
	return interp_samples_read(&samples, &runtime, &n, &frames);
}

static const char *text(void)
{
	static char t[64];
	char *p = t;
	for (size_t i = frames.frames.n; i-- > 0;)
		p += sprintf(p, "%u ", frames.frames.v[i]);
	*p = '\0';
	return t;
}

static void learn(void)
{
	static const char *const stacks[] = { "0123", "0124", "015", "0" };
	for (uint32_t i = 0; i < 400; i++) {
		const char *functions = stacks[i % 4];
		size_t depth = strlen(functions) - 1;
		execute(functions);
		is_calling = i % 11 % 2;
		sample((uint32_t)(functions[depth] - '0'), 2 + i % 30 * 2, depth, 1000);
	}
	is_calling = false;
}

#define LATE 20000000u

int main(void)
{
	interp_samples_init(&samples);
	execute("0123");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_UNKNOWN, "nothing is known at first");
	learn();
	tap_int(samples.learn.instruction, R15,
		"the instruction: not the start of the function, nor an earlier one");
	tap_int(samples.learn.frame, RBX, "the frame: not the one that never changes");

	execute("0126");
	tap_int(sample(6, 10, 3, 1000), INTERP_QUALITY_EXACT, "callers that are read at once");
	tap_str(text(), "0 1 2 6 ", "all of them");
	execute("0123");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_EXACT, "read late, and as remembered");
	execute("0124");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED, "another function is there now");
	tap_str(text(), "0 1 2 3 ", "its callers are remembered");
	execute("01");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED, "its frame is gone");
	execute("0173");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED,
		"the same function is there, called by another one");
	tap_str(text(), "0 1 2 3 ", "the late reading is not believed");
	execute("015");
	tap_int(sample(7, 10, 2, LATE), INTERP_QUALITY_INNERMOST, "a function that is new");
	tap_str(text(), "99 7 ", "is exact, its callers are unknown");
	execute("0172");
	is_moving = true;
	tap_int(sample(2, 10, 3, 1000), INTERP_QUALITY_INNERMOST,
		"what changes while it is read is not believed");
	is_moving = false;

	n_now = 0;
	tap_int(sample(CODES, 10, 3, LATE), INTERP_QUALITY_UNKNOWN, "no instruction, and no frame");
	execute("0126");
	tap_int(sample(CODES, 10, 3, 1000), INTERP_QUALITY_EXACT,
		"no instruction: the function that is read at once");
	interp_samples_done(&samples);
	interp_frames_done(&frames);
	return tap_done();
}
