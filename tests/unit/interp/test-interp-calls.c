/* Callers by distance, and by single calls: frames follow each other in memory. */

#include "interp/interp-base.h"
#include "interp/interp-chains.h"
#include "tap.h"

#define OUTER 9u                        /* calls native code, which calls functions */
#define GENERATOR 8u                    /* its frame is elsewhere */
#define UNKNOWN 7u                      /* a function whose frames have an unknown size */

static struct interp_chains chains;

static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	return off / 10;
}

/* Function 3 has 30 bytes, and so on. */
static enum interp_frames_where where(void *ctx, uint32_t code, uint32_t *ret_bytes)
{
	*ret_bytes = code * 10;
	return code == UNKNOWN ? INTERP_FRAMES_UNKNOWN :
	       code == GENERATOR ? INTERP_FRAMES_FIRST : INTERP_FRAMES_STACKED;
}

static const struct interp_runtime runtime = { .line = line, .frames_where = where };

/* OUTER has its frame at that address, and executes the instruction `off`; native code has called
 * the functions, outermost first. */
static void learn(uint64_t at, uint32_t off, const uint32_t *function, size_t n)
{
	struct interp_link link[8];
	uint32_t ends[] = { (uint32_t)n, (uint32_t)n + 1 };
	uint64_t frame = at + 10 * OUTER;
	link[n] = (struct interp_link){ at, OUTER, off };
	for (size_t i = 0; i < n; i++) {
		link[n - 1 - i] = (struct interp_link){ frame, function[i], 10 };
		frame += function[i] == GENERATOR ? 0 : 10 * function[i];
	}
	const struct interp_chain c = {
		.link = { link, n + 1, n + 1 }, .ends = { ends, 2, 2 }, .is_whole = true,
	};
	interp_chains_learn(&chains, &runtime, &c);
}

static struct interp_base base_at(uint64_t at, uint32_t off)
{
	const struct interp_base_head outer = { OUTER, off, at };
	return interp_base_find(&runtime, &outer, 1, 0);
}

static uint32_t remembered(const struct interp_base *base, uint32_t code, uint64_t distance)
{
	const struct interp_chains_place at = interp_base_place(base, code, base->at + distance);
	return interp_chains_find(&chains, &at);
}

static uint32_t composed(const struct interp_base *base, uint32_t code, uint64_t distance)
{
	return interp_chains_compose(&chains, &runtime, base, INTERP_ENTRY_UNKNOWN, code,
				     base->at + distance);
}

static bool is_alone(const struct interp_base *base, enum interp_entry entry, uint32_t code,
		     uint64_t frame)
{
	return interp_base_is_alone(&runtime, base, entry, code, frame);
}

static void check_bases(void)
{
	const struct interp_base_head heads[] = {
		{ GENERATOR, 10, 0x99990 }, { OUTER, 25, 0x1000 },
	};
	struct interp_base base = interp_base_find(&runtime, heads, 2, 0);
	tap_ok(base.at == 0x1000 + 90 && base.outer_code == GENERATOR && base.line == 1,
	       "after the frame of a function, although a generator is between");
	tap_ok(is_alone(&base, INTERP_ENTRY_FUNCTION, 3, 0x1000 + 90) &&
	       !is_alone(&base, INTERP_ENTRY_FUNCTION, 3, 0x1000 + 110),
	       "its first function is alone");
	tap_ok(!is_alone(&base, INTERP_ENTRY_GENERATOR, 3, 0x1000 + 90) &&
	       !is_alone(&base, INTERP_ENTRY_UNKNOWN, 3, 0x1000 + 90),
	       "a generator may have called it");
	tap_ok(is_alone(&base, INTERP_ENTRY_GENERATOR, GENERATOR, 0x88880) &&
	       !is_alone(&base, INTERP_ENTRY_GENERATOR, GENERATOR, 0x1000 + 110),
	       "which is alone, once it has begun");
	const struct interp_base_head unknown[] = { { UNKNOWN, 0, 0x1000 }, { OUTER, 0, 0x800 } };
	base = interp_base_find(&runtime, unknown, 2, 0);
	tap_ok(!base.at && base.outer == 0x1000, "after a frame without a known size: unknown");
	tap_ok(!is_alone(&base, INTERP_ENTRY_FUNCTION, 3, 0x1000), "nothing is alone there");
}

/* The outermost activation of a thread. */
static void check_roots(void)
{
	struct interp_link link[] = { { 0x1030, 2, 0 }, { 0x1000, 3, 0 } };
	struct interp_chain c = { .link = { link, 2, 2 }, .is_whole = true };
	tap_ok(interp_base_root(&runtime, &c) == 0x1000, "frames begin with the first function's");
	struct interp_base base = interp_base_find(&runtime, NULL, 0, 0x1000);
	tap_ok(base.at == 0x1000 && base.outer_code == INTERP_BASE_ROOT &&
	       is_alone(&base, INTERP_ENTRY_FUNCTION, 3, 0x1000),
	       "so does the outermost activation");
	link[1].code = GENERATOR;
	tap_ok(!interp_base_root(&runtime, &c), "not if that is a generator's");
	c.is_whole = false;
	link[1].code = 3;
	tap_ok(!interp_base_root(&runtime, &c), "nor if the first function is unknown");
}

int main(void)
{
	static const uint32_t first[] = { 1, 2, 3 }, second[] = { 1, 2, 4 }, third[] = { 5, 3, 6 };
	static const uint32_t loop[] = { 1, 1, 1, 1, 1, 3 };
	check_bases();
	check_roots();
	learn(0x1000, 25, first, 3);
	learn(0x3000, 27, first, 3);
	struct interp_base here = base_at(0x5000, 20), other = base_at(0x5000, 30);
	uint32_t node = remembered(&here, 3, 30);
	struct interp_chains_caller inner = interp_chains_caller(&chains, node);
	tap_ok(node != INTERP_CHAINS_NONE && inner.code == 2 &&
	       interp_chains_caller(&chains, inner.next).code == 1,
	       "the same callers as elsewhere, at the same distance");
	tap_ok(remembered(&other, 3, 30) == INTERP_CHAINS_NONE, "not if another line has called");
	tap_ok(remembered(&here, 3, 40) == INTERP_CHAINS_NONE, "nor at another distance");

	learn(0x1000, 25, second, 3);
	learn(0x1000, 25, third, 3);
	tap_ok(composed(&here, 4, 30) == node, "callers by calls that were seen once");
	tap_ok(composed(&here, 6, 80) != INTERP_CHAINS_NONE &&
	       composed(&here, 6, 80) != node, "other ones");
	node = composed(&here, 6, 60);
	inner = interp_chains_caller(&chains, node);
	tap_ok(node != INTERP_CHAINS_NONE && inner.code == 3 &&
	       interp_chains_caller(&chains, inner.next).code == 2,
	       "callers that were never seen together");
	tap_ok(composed(&here, 6, 50) == INTERP_CHAINS_NONE, "no calls have that distance");
	tap_ok(composed(&other, 6, 60) == INTERP_CHAINS_NONE, "from that line nothing was called");
	tap_ok(interp_calls_has_first(&chains.calls, &here, 5) &&
	       !interp_calls_has_first(&chains.calls, &here, 3) &&
	       !interp_calls_has_first(&chains.calls, &other, 5), "what native code has called");
	tap_ok(composed(&here, 0, 30) == INTERP_CHAINS_NONE, "a function that was not met");
	tap_ok(composed(&here, 6, (uint64_t)-8) == INTERP_CHAINS_NONE, "a frame that is elsewhere");
	learn(0x1000, 25, (const uint32_t[]){ 2, 1, 4 }, 3);
	tap_ok(composed(&here, 4, 30) == INTERP_CHAINS_SEVERAL, "two ways: none is believed");
	learn(0x1000, 25, loop, 6);
	tap_ok(composed(&here, 3, 16000) == INTERP_CHAINS_SEVERAL, "a search has an end");
	learn(0x1000, 25, (const uint32_t[]){ GENERATOR, 3 }, 2);
	node = composed(&here, 3, 0);
	tap_ok(node != INTERP_CHAINS_NONE && interp_chains_caller(&chains, node).code == GENERATOR,
	       "a generator has called it");
	learn(0x1000, 25, (const uint32_t[]){ 3 }, 1);
	tap_ok(composed(&here, 3, 0) == INTERP_CHAINS_SEVERAL, "or native code");
	tap_int(interp_chains_compose(&chains, &runtime, &here, INTERP_ENTRY_FUNCTION, 3, here.at),
		0, "which is known to call functions");
	tap_ok(interp_chains_compose(&chains, &runtime, &here, INTERP_ENTRY_GENERATOR, 3,
				     here.at) == node, "which is known to resume generators");
	interp_chains_done(&chains);
	return tap_done();
}
