/* Functions of samples, with an interpreter that is a table: learning where its loop keeps things,
 * and what is believed of callers. */

#include "tests/unit/interp/interptable.h"

#include "tap.h"

#include <stdio.h>
#include <string.h>

static struct interp_samples samples;
static struct interp_frames frames;

static enum interp_quality sample(uint32_t function, uint32_t off, size_t depth, uint64_t age_ns)
{
	return interptable_sample(&samples, &frames, function, off, depth, age_ns);
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

#define LATE 20000000u

/* Most readings find what the thread does next, not what the sample says. */
static void learn_late(void)
{
	static const char *const stacks[] = { "0123", "0124", "015", "0" };
	struct interp_samples slow;
	interptable_begin(&slow);
	for (uint32_t i = 0; i < 400; i++) {
		const char *functions = stacks[i % 4];
		size_t depth = strlen(functions) - 1;
		interptable_execute(stacks[i % 5 ? (i + 1) % 4 : i % 4]);
		interptable_sample(&slow, &frames, (uint32_t)(functions[depth] - '0'),
				   2 + i % 30 * 2, depth, 1000);
	}
	tap_int(slow.learn->frame, RBX, "the frame: not the one that is read afterwards");
	interptable_end(&slow);
}

/* Functions are so short that each reading finds another one. */
static void learn_short(void)
{
	static const char *const stacks[] = { "0123", "0124", "015", "0" };
	struct interp_samples brief;
	interptable_begin(&brief);
	for (uint32_t i = 0; i < 400; i++) {
		size_t depth = strlen(stacks[i % 4]) - 1;
		interptable_execute(stacks[(i + 1 + i / 4 % 3) % 4]);
		interptable_sample(&brief, &frames, (uint32_t)(stacks[i % 4][depth] - '0'),
				   2 + i % 30 * 2, depth, 1000);
	}
	tap_int(brief.learn->instruction, R15,
		"the instruction, whose functions have had their frames there");
	tap_int(brief.learn->frame, RBX, "their frame");
	interptable_end(&brief);
}

/* Functions of their own activations may have the same instructions. */
static void need_frame(void)
{
	struct interp_samples single;
	interptable_begin(&single);
	interptable.has_single_frames = true;
	single.learn->instruction = R15;
	interptable_execute("0");
	tap_int(interptable_sample(&single, &frames, 0, 10, 0, 1000), INTERP_QUALITY_UNKNOWN,
		"a function in its own activation is not believed without its frame");
	single.learn->frame = RBX;
	tap_int(interptable_sample(&single, &frames, 0, 10, 0, 1000), INTERP_QUALITY_EXACT,
		"it is with it");
	interptable_execute("1");
	tap_int(interptable_sample(&single, &frames, 0, 10, 0, LATE), INTERP_QUALITY_UNKNOWN,
		"an activation that has its frame, but not its instruction yet");
	interptable.has_single_frames = false;
	interptable_end(&single);
}

static void learn_large(void)
{
	struct interp_samples large;
	interptable_begin(&large);
	interptable_is_large = true;
	interptable_learn(&large, &frames);
	interptable_is_large = false;
	tap_int(large.learn->instruction, R15,
		"the instruction, although no function was met before");
	interptable_end(&large);
}

/* At a call, the instruction is elsewhere, and readings always find another function. */
static void learn_call(void)
{
	static const char *const stacks[] = { "0123", "0124", "015", "0" };
	enum interp_quality q = INTERP_QUALITY_UNKNOWN;
	struct interp_samples calls;
	interptable_begin(&calls);
	for (uint32_t i = 0; i < 200; i++) {
		size_t depth = strlen(stacks[i % 4]) - 1;
		interptable_execute(stacks[i % 4]);
		interptable_sample(&calls, &frames, (uint32_t)(stacks[i % 4][depth] - '0'),
				   2 + i % 30 * 2, depth, 1000);
	}
	interptable_is_calling = true;
	interptable_execute("0124");
	for (uint32_t i = 0; i < 8; i++)
		q = interptable_sample(&calls, &frames, 3, 10 + i % 6 * 8, 3, LATE);
	interptable_is_calling = false;
	tap_int(q, INTERP_QUALITY_REMEMBERED,
		"a slot with functions that have had their frame there");
	tap_str(text(), "0 1 2 3 ", "its function, and not that of the reading");
	interptable_end(&calls);
}

/* The same in a program with so many functions that some were not met before, and some cannot be
 * read. */
static void learn_call_large(void)
{
	enum interp_quality q = INTERP_QUALITY_UNKNOWN;
	struct interp_samples calls;
	interptable_begin(&calls);
	interptable_learn(&calls, &frames);
	interp_callplaces_clear(&calls.learn->calls);
	interptable_is_calling = true;
	interptable_execute("0124");
	for (uint32_t i = 0; i < 40; i++) {
		interptable_is_large = i % 2;
		q = interptable_sample(&calls, &frames, i % 5 ? 3 : CODES, 10 + i % 6 * 8, 3,
				       LATE);
	}
	interptable_is_calling = interptable_is_large = false;
	tap_int(q, INTERP_QUALITY_REMEMBERED, "a slot with functions that were not all known");
	tap_str(text(), "0 1 2 3 ", "the sample's function");
	interptable_end(&calls);
}

/* Another process of the same file. */
static void share(void)
{
	struct interp_samples first, second;
	interptable_begin(&first);
	interp_samples_init(&second, first.learn, NULL);
	tap_ok(!interp_learn_is_known(first.learn), "nothing is known for other processes");
	interptable_learn(&first, &frames);
	tap_ok(interp_learn_is_known(first.learn), "the places are");
	interptable_execute("0123");
	tap_int(interptable_sample(&second, &frames, 3, 10, 3, 1000), INTERP_QUALITY_EXACT,
		"the first sample of another process");
	tap_str(text(), "0 1 2 3 ", "has its functions");
	interptable_bias = 0x10000;
	interptable_is_calling = true;
	interptable_sample(&second, &frames, 3, 10, 3, LATE);
	tap_str(text(), "0 1 2 3 ", "at a call, too, wherever the file is mapped");
	interptable_is_calling = false;
	interptable_bias = 0;
	interp_samples_done(&second);
	interptable_end(&first);
}

/* What a sample with a copy has, read late, at the fourth frame of the thread. */
static void copied(struct interp_samples *s, const char *now, uint32_t function,
		   enum interp_quality quality, const char *functions, const char *what)
{
	char name[128];
	interptable_execute(now);
	snprintf(name, sizeof(name), "%s: how sure it is", what);
	tap_int(interptable_sample(s, &frames, function, 10, 3, LATE), quality, name);
	tap_str(text(), functions, what);
}

/* Function 3, called by 7, has left its frame; the copy may be overwritten while it is read. */
static bool overwrites;

static bool trace(void *ctx, uint64_t at, uint32_t *ret_code, uint64_t *ret_caller)
{
	*ret_code = 3;
	*ret_caller = FRAME(2);
	interptable_stamp = !overwrites;
	return at == FRAME(3);
}

static bool may_call(void *ctx, uint32_t code, uint32_t other)
{
	return false;
}

static void use_traces(struct interp_samples *s)
{
	interptable.trace = trace;
	interptable.may_call = may_call;
	interptable_is_stacked = false;
	copied(s, "057", 3, INTERP_QUALITY_EXACT, "0 5 7 3 ", "a function that has returned");
	overwrites = true;
	copied(s, "067", 3, INTERP_QUALITY_REMEMBERED, "0 1 2 3 ",
	       "not if the copy was overwritten");
	interptable.trace = NULL;
	interptable.may_call = NULL;
	interptable_stamp = 1;
}

/* Copies of the sample's own moment. */
static void use_copies(void)
{
	struct interp_samples s;
	interptable_begin(&s);
	interptable_learn(&s, &frames);
	interptable_is_stacked = true;
	interptable_learn(&s, &frames);
	copied(&s, "0126", 7, INTERP_QUALITY_INNERMOST, "99 7 ", "a late reading without a copy");
	interptable_is_copied = true;
	copied(&s, "0173", 3, INTERP_QUALITY_EXACT, "0 1 7 3 ",
	       "a copy is right, however late it is read");
	interptable_is_unread = true;
	copied(&s, "0163", 3, INTERP_QUALITY_EXACT, "0 1 6 3 ", "also while memory is not read");
	interptable_is_unread = false;
	interptable_n_missing = 1;
	copied(&s, "0173", 3, INTERP_QUALITY_REMEMBERED, "0 1 7 3 ",
	       "a copy that lacks the outermost function, which is remembered");
	interptable_is_unread = true;
	interptable_n_missing = 2;
	copied(&s, "0667", 7, INTERP_QUALITY_INNERMOST, "99 6 7 ",
	       "one that lacks functions that are unknown");
	interptable_is_unread = false;
	copied(&s, "0667", 7, INTERP_QUALITY_REMEMBERED, "0 6 6 7 ",
	       "they are known as soon as memory is read");
	interptable_n_missing = 0;
	copied(&s, "057", 3, INTERP_QUALITY_EXACT, "0 5 7 3 ",
	       "a function that is being called, whose frame is not listed yet");
	copied(&s, "0573", 7, INTERP_QUALITY_EXACT, "0 5 7 3 ",
	       "one that has its frame, but the instruction of its caller");
	use_traces(&s);
	interptable_is_copied = interptable_is_stacked = false;
	interptable_end(&s);
}

int main(void)
{
	struct interp_kept kept;
	interptable_begin(&samples);
	interptable_execute("0123");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_UNKNOWN, "nothing is known at first");
	tap_ok(interp_samples_keep(&samples, &interptable, &kept), "such a sample can be kept");
	interptable_learn(&samples, &frames);
	tap_int(interp_samples_again(&samples, &interptable, &kept, &frames),
		INTERP_QUALITY_REMEMBERED, "later, its functions are known");
	tap_str(text(), "0 1 2 3 ", "with its callers");
	interp_kept_done(&kept);
	tap_int(samples.learn->instruction, R15,
		"the instruction: not the start of the function, nor an earlier one");
	tap_int(samples.learn->frame, RBX, "the frame: not the one that never changes");

	interptable_execute("0126");
	tap_int(sample(6, 10, 3, 1000), INTERP_QUALITY_EXACT, "callers that are read at once");
	tap_str(text(), "0 1 2 6 ", "all of them");
	interptable_execute("0123");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_EXACT, "read late, and as remembered");
	interptable_execute("0124");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED, "another function is there now");
	tap_str(text(), "0 1 2 3 ", "its callers are remembered");
	interptable_execute("0173");
	interptable_is_unread = true;
	tap_int(sample(3, 10, 3, 1000), INTERP_QUALITY_REMEMBERED, "nothing is read, even at once");
	tap_str(text(), "0 1 2 3 ", "its callers are remembered");
	interptable_is_unread = false;
	interptable_execute("01");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED, "its frame is gone");
	interptable_execute("0173");
	tap_int(sample(3, 10, 3, LATE), INTERP_QUALITY_REMEMBERED,
		"the same function is there, called by another one");
	tap_str(text(), "0 1 2 3 ", "the late reading is not believed");
	interptable_execute("015");
	tap_int(sample(7, 10, 2, LATE), INTERP_QUALITY_INNERMOST, "a function that is new");
	tap_str(text(), "99 7 ", "is exact, its callers are unknown");
	interptable_execute("0172");
	interptable_is_moving = true;
	uint32_t n_learned = samples.learn->n_prompt;
	tap_int(sample(2, 10, 3, 1000), INTERP_QUALITY_INNERMOST,
		"what changes while it is read is not believed");
	tap_int(samples.learn->n_prompt, n_learned, "and places are not learned from it");
	interptable_is_moving = false;

	interptable_execute("");
	tap_int(sample(CODES, 10, 3, LATE), INTERP_QUALITY_UNKNOWN, "no instruction, and no frame");
	interptable_execute("0126");
	tap_int(sample(CODES, 10, 3, 1000), INTERP_QUALITY_EXACT,
		"no instruction: the function that is read at once");
	tap_int(sample(CODES, 10, 3, LATE), INTERP_QUALITY_UNKNOWN, "not what is read later");
	interptable_end(&samples);
	learn_late();
	learn_short();
	need_frame();
	learn_large();
	learn_call();
	learn_call_large();
	share();
	use_copies();
	interp_frames_done(&frames);
	return tap_done();
}
