#include "tests/unit/interp/interptable.h"

#include "base/clock.h"
#include "source/record.h"
#include "stack/stack-user.h"
#include "symbolize/arch/arch.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdlib.h>
#include <string.h>

static struct runtime_pages pages;      /* none of them is read */

/* The frames of the thread now, outermost first: functions. */
static uint32_t now[8];
static size_t n_now;
bool interptable_is_moving, interptable_is_calling, interptable_is_large;
bool interptable_is_unread;
bool interptable_is_copied, interptable_is_stacked;
size_t interptable_n_missing;
uint64_t interptable_stamp = 1;
uint32_t interptable_n_replaced;
uint64_t interptable_bias;

static uint32_t renew(void *ctx, uint64_t now_ns)
{
	return 0;
}

static void forget(void *ctx)
{
}

static void use_second(void *ctx)
{
	if (interptable_is_moving)
		now[n_now - 2] ^= 1;
}

static uint32_t code_of_frame(void *ctx, uint64_t at)
{
	for (size_t i = 0; i < n_now; i++)
		if (FRAME(i) == at)
			return now[i];
	return INTERP_NO_CODE;
}

static uint32_t code_of(void *ctx, uint64_t instruction, enum interp_search how, uint32_t *ret_off)
{
	bool is_met = how != INTERP_SEARCH_KNOWN || !interptable_is_large;
	for (uint32_t i = 0; i < CODES && is_met; i++)
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

static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	return 1;
}

static bool chain(void *ctx, uint64_t at, struct interp_chain *ret)
{
	size_t n_missing = pages.copy ? interptable_n_missing : 0;
	ret->link.n = ret->ends.n = 0;
	ret->is_whole = !n_missing;
	for (size_t i = n_now; i-- > n_missing;)
		if (FRAME(i) <= at &&
		    !VEC_PUSH(&ret->link, ((struct interp_link){ FRAME(i), now[i], 8 })))
			abort();
	return n_missing || VEC_PUSH(&ret->ends, (uint32_t)ret->link.n);
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

static enum interp_frames_where frames_where(void *ctx, uint32_t code, uint32_t *ret_bytes)
{
	*ret_bytes = FRAME(1) - FRAME(0);
	return interptable_is_stacked ? INTERP_FRAMES_STACKED : INTERP_FRAMES_UNKNOWN;
}

static uint32_t n_replaced(void *ctx)
{
	return interptable_n_replaced;
}

struct interp_runtime interptable = {
	.label = "table::stack",
	.instruction_place = ACTIVATION_NO_PLACE, .frame_place = ACTIVATION_NO_PLACE,
	.renew = renew, .forget = forget, .use_second = use_second, .code_of = code_of,
	.code_of_frame = code_of_frame,
	.is_shared = is_shared, .line = line, .chain = chain,
	.frames_where = frames_where, .frame_pages = &pages,
	.innermost = innermost, .frame = frame, .unknown = unknown, .n_replaced = n_replaced,
};

void interptable_execute(const char *functions)
{
	for (n_now = 0; *functions; functions++)
		now[n_now++] = (uint32_t)(*functions - '0');
}

void interptable_begin(struct interp_samples *s)
{
	struct interp_learn *learn = malloc(sizeof(*learn));
	if (!learn)
		abort();
	interp_learn_init(learn, &interptable);
	interp_samples_init(s, learn, NULL);
}

void interptable_end(struct interp_samples *s)
{
	interp_learn_done(s->learn);
	free(s->learn);
	interp_samples_done(s);
}

enum interp_quality interptable_sample(struct interp_samples *s, struct interp_frames *frames,
				       uint32_t function, uint32_t off, size_t depth,
				       uint64_t age_ns)
{
	static struct stack_regs rules;
	static const bool is_loop[2] = { true, false };
	struct stack_user user = { .arch = &arch_x86_64 };
	const struct unwind_frame f[2] = {
		{ .pc = 0x400000 + interptable_bias, .sp = 0x7000, .flags = UNWIND_FRAME_EXACT },
		{ .sp = 0x7008 },
	};
	static uint64_t slot;   /* the sample may be read after this call */
	struct stack_regs_walk walk = {
		.rules = &rules, .user = &user, .frame = f, .n = 2, .stack_at = 0x7000,
		.stack = (const uint8_t *)&slot, .n_stack_bytes = sizeof(slot),
	};
	slot = CODE(function) + off / 8 * 8 + 2;
	walk.regs.r[R15] = interptable_is_calling ? 0 : CODE(function) + off;
	walk.regs.r[R12] = CODE(function);
	walk.regs.r[RBX] = FRAME(depth);
	walk.regs.r[R13] = FRAME(0);
	walk.regs.r[RBP] = n_now ? FRAME(n_now - 1) : 0;
	walk.regs.valid = 0x1ffff;
	const struct runtime_copy copy = { .stamp = &interptable_stamp, .time_ns = 1 };
	const struct interp_samples_native n = {
		.copy = interptable_is_copied ? &copy : NULL,
		.walk = &walk, .is_loop = is_loop, .is_whole = true, .tid = 5,
		.bias = interptable_bias,
		.may_read = !interptable_is_unread, .time_ns = clock_monotonic_ns() - age_ns,
	};
	interp_samples_renew(s, &interptable, n.time_ns);
	return interp_samples_read(s, &interptable, &n, frames);
}

void interptable_learn(struct interp_samples *s, struct interp_frames *frames)
{
	static const char *const stacks[] = { "0123", "0124", "015", "0" };
	for (uint32_t i = 0; i < 400; i++) {
		const char *functions = stacks[i % 4];
		size_t depth = strlen(functions) - 1;
		interptable_execute(functions);
		interptable_is_calling = i % 11 % 2;
		interptable_sample(s, frames, (uint32_t)(functions[depth] - '0'), 2 + i % 30 * 2,
				   depth, 1000);
	}
	interptable_is_calling = false;
}
