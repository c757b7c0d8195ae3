/* Callers that are remembered: which are believed. */

#include "interp/interp-chains.h"
#include "tap.h"

#define OUTER 0x9000u

static struct interp_chains chains;

/* Ten bytes are a line. */
static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	return off / 10;
}

static const struct interp_runtime runtime = { .line = line };

static uint32_t outer_code = 9;

/* "leaf" called by two callers, of which the inner one is `caller`, at an instruction. */
static void learn(uint32_t caller, uint32_t off)
{
	struct interp_link link[] = {
		{ 0x300, 3, 30 }, { 0x200, caller, off }, { 0x100, 1, 10 },
		{ OUTER, outer_code, 90 },
	};
	uint32_t ends[] = { 3, 4 };
	const struct interp_chain c = {
		.link = { link, 4, 4 }, .ends = { ends, 2, 2 }, .is_whole = true,
	};
	interp_chains_learn(&chains, &runtime, &c);
}

static uint32_t believed(uint32_t code, uint64_t frame, uint64_t outer)
{
	const struct interp_chains_place at = { code, outer ? outer_code : 0, frame, outer };
	return interp_chains_find(&chains, &at);
}

int main(void)
{
	tap_ok(believed(3, 0x300, OUTER) == INTERP_CHAINS_NONE, "nothing is known at first");
	learn(2, 20);
	tap_ok(believed(3, 0x300, OUTER) == INTERP_CHAINS_NONE, "one reading is not believed");
	learn(2, 20);
	uint32_t node = believed(3, 0x300, OUTER);
	struct interp_chains_caller inner = interp_chains_caller(&chains, node);
	struct interp_chains_caller outer = interp_chains_caller(&chains, inner.next);
	tap_ok(inner.code == 2 && inner.off == 20 && inner.has_off && outer.code == 1 &&
	       outer.next == 0, "two are: callers up to the end of the activation");
	outer_code = 8;
	tap_ok(believed(3, 0x300, OUTER) == INTERP_CHAINS_NONE,
	       "another function has called the activation");
	outer_code = 9;
	const struct interp_link same[] = { { 0x200, 2, 22 }, { 0x100, 1, 10 } };
	tap_int(interp_chains_node(&chains, 0, same, 2), node, "the same functions are one node");
	tap_int(interp_chains_node(&chains, inner.next, same, 1), node,
		"likewise on the node of the others");
	tap_int(interp_chains_node(&chains, 0, same, 0), 0, "no callers");
	tap_int(believed(9, OUTER, 0), 0, "the outermost function has none");
	tap_ok(believed(2, 0x200, OUTER) == inner.next, "callers have callers, too");
	tap_ok(believed(3, 0x300, 0) == INTERP_CHAINS_NONE &&
	       believed(3, 0x308, OUTER) == INTERP_CHAINS_NONE &&
	       believed(4, 0x300, OUTER) == INTERP_CHAINS_NONE, "elsewhere nothing is known");
	learn(2, 26);
	inner = interp_chains_caller(&chains, node);
	tap_ok(inner.has_off && inner.off == 20, "another instruction of the same line");
	struct interp_link alone[] = { { 0x200, 2, 90 }, { 0x100, 1, 10 }, { OUTER, 9, 90 } };
	uint32_t ends[] = { 2, 3 };
	const struct interp_chain c = {
		.link = { alone, 3, 3 }, .ends = { ends, 2, 2 }, .is_whole = true,
	};
	for (int i = 0; i < 5; i++)
		interp_chains_learn(&chains, &runtime, &c);
	inner = interp_chains_caller(&chains, node);
	tap_ok(inner.has_off && inner.off == 20, "as innermost function it is on other lines");
	learn(2, 36);
	learn(2, 36);
	inner = interp_chains_caller(&chains, node);
	tap_ok(!inner.has_off, "calls from two lines: neither is believed");
	learn(7, 20);
	tap_ok(believed(3, 0x300, OUTER) == INTERP_CHAINS_NONE, "one of six has another caller");
	for (int i = 0; i < 20; i++)
		learn(2, 20);
	tap_int(believed(3, 0x300, OUTER), node, "one of 26");
	for (int i = 0; i < 2000; i++)
		learn(8, 20);
	inner = interp_chains_caller(&chains, believed(3, 0x300, OUTER));
	tap_int(inner.code, 8, "the program has changed");
	for (uint32_t i = 0; i < 10; i++)
		learn(20 + i, 20);
	tap_ok(believed(3, 0x300, OUTER) != INTERP_CHAINS_NONE,
	       "many single callers do not matter");
	interp_chains_clear(&chains);
	tap_ok(believed(3, 0x300, OUTER) == INTERP_CHAINS_NONE, "all is forgotten");
	return tap_done();
}
