/* Calls that one process has taught are known in another one, where functions have other codes. */

#include "interp/interp-base.h"
#include "interp/interp-chains.h"
#include "interp/interp-shared.h"
#include "tap.h"

#define OUTER 9u                        /* calls native code, which calls functions */
#define PRIVATE 8u                      /* a function that may be another one elsewhere */
#define NAMED 100000u                   /* codes of functions that are known by name only */

/* A process, in which the function i has the code i + add. */
struct process {
	uint32_t add, n_named;
	struct interp_chains chains;
	struct interp_shared_view view;
};

static struct interp_shared shared;
static struct interp_link callers[INTERP_CALLS_DEPTH];
static size_t n_callers;

static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	return off / 10;
}

/* Function 3 has 30 bytes, and so on. */
static enum interp_frames_where where(void *ctx, uint32_t code, uint32_t *ret_bytes)
{
	const struct process *p = ctx;
	*ret_bytes = (code - p->add) * 10;
	return INTERP_FRAMES_STACKED;
}

static bool identify(void *ctx, uint32_t code, struct interp_function *ret)
{
	const struct process *p = ctx;
	*ret = (struct interp_function){ .name = code - p->add, .n_bytes = 50 };
	ret->where = where(ctx, code, &ret->n_frame_bytes);
	return ret->name != PRIVATE;
}

static uint32_t code_named(void *ctx, const struct interp_function *f)
{
	struct process *p = ctx;
	p->n_named++;
	return NAMED + f->name;
}

static struct interp_runtime runtime_of(struct process *p)
{
	return (struct interp_runtime){
		.ctx = p, .line = line, .frames_where = where, .identify = identify,
		.code_named = code_named,
	};
}

/* OUTER, at an address, has called native code, which has called the functions, outermost first. */
static void execute(struct process *p, const uint32_t *function, size_t n)
{
	const struct interp_runtime r = runtime_of(p);
	struct interp_link link[8];
	uint32_t ends[] = { (uint32_t)n, (uint32_t)n + 1 };
	uint64_t frame = 0x1000 + 10 * OUTER;
	link[n] = (struct interp_link){ 0x1000, OUTER + p->add, 25 };
	for (size_t i = 0; i < n; i++) {
		link[n - 1 - i] = (struct interp_link){ frame, function[i] + p->add, 10 };
		frame += 10 * function[i];
	}
	const struct interp_chain c = {
		.link = { link, n + 1, n + 1 }, .ends = { ends, 2, 2 }, .is_whole = true,
	};
	interp_chains_learn(&p->chains, &r, &c);
	interp_shared_add(&p->view, &r, &c, &p->chains.calls);
}

static struct interp_base base_in(struct process *p)
{
	const struct interp_runtime r = runtime_of(p);
	const struct interp_base_head outer = { OUTER + p->add, 25, 0x5000 };
	return interp_base_find(&r, &outer, 1, 0);
}

static bool find(struct process *p, uint32_t function, uint64_t distance, bool are_several)
{
	const struct interp_runtime r = runtime_of(p);
	const struct interp_base base = base_in(p);
	const struct interp_shared_place at = {
		&base, INTERP_ENTRY_UNKNOWN, function + p->add, base.at + distance, are_several,
	};
	return interp_shared_find(&p->view, &r, &at, callers, &n_callers);
}

static bool has_first(struct process *p, uint32_t function)
{
	const struct interp_runtime r = runtime_of(p);
	const struct interp_base base = base_in(p);
	return interp_shared_has_first(&p->view, &r, &base, function + p->add);
}

static void check_other(struct process *other)
{
	static const uint32_t second[] = { 2, 1, 3 };
	tap_ok(find(other, 3, 30, false) && n_callers == 2 && callers[0].code == NAMED + 2 &&
	       callers[1].code == NAMED + 1, "another process knows the callers, by name");
	tap_ok(callers[0].off == 1 && callers[1].off == 1, "and their lines");
	tap_ok(find(other, 3, 30, false) && other->n_named == 2, "each function gets a code once");
	tap_ok(!find(other, 3, 40, false), "not at another distance");
	tap_ok(!find(other, 4, 80, false), "nor through a function that may be another one");
	tap_ok(!find(other, 3, 30, true), "nor where the process itself knows several ways");
	tap_ok(has_first(other, 1) && !has_first(other, 2), "what native code has called");
	execute(other, second, 3);
	tap_ok(!find(other, 3, 30, false), "two ways: none is believed");
	for (int i = 0; i < 20; i++)
		execute(other, second, 3);
	tap_ok(find(other, 3, 30, true) && callers[0].code == NAMED + 1,
	       "but one that was nearly always seen is");
}

/* Its functions have other codes than before. */
static void check_forgotten(struct process *other)
{
	interp_chains_clear(&other->chains);
	interp_shared_renew(&other->view);
	other->add = 300;
	tap_ok(!find(other, 4, 10, false) && find(other, 5, 0, false),
	       "a process that has forgotten its codes finds those of others again");
}

/* The numbers of all processes change. */
static void check_full(struct process *one, struct process *other)
{
	uint32_t before = shared.n_clears;
	for (uint32_t i = 100; i < 20000; i++)
		execute(one, (const uint32_t[]){ i }, 1);
	tap_ok(shared.n_clears > before && shared.v.n < 20000, "too many are forgotten");
	execute(one, (const uint32_t[]){ 11, 12 }, 2);
	tap_ok(find(other, 12, 110, false) && callers[0].code == NAMED + 11,
	       "and new ones are shared");
}

static void done(struct process *p)
{
	interp_chains_done(&p->chains);
	interp_shared_view_done(&p->view);
}

int main(void)
{
	static const uint32_t first[] = { 1, 2, 3 }, hidden[] = { PRIVATE, 4 }, last[] = { 5 };
	struct process one = { .add = 100, .view.shared = &shared };
	struct process other = { .add = 200, .view.shared = &shared };
	struct process alone = { .add = 0 };
	tap_ok(!find(&other, 3, 30, false), "nothing is known at first");
	execute(&one, first, 3);
	execute(&one, hidden, 2);
	execute(&one, last, 1);
	execute(&alone, first, 3);
	tap_ok(!find(&alone, 3, 30, false), "a process that shares nothing");
	check_other(&other);
	check_forgotten(&other);
	check_full(&one, &other);
	done(&one);
	done(&other);
	done(&alone);
	interp_shared_done(&shared);
	return tap_done();
}
