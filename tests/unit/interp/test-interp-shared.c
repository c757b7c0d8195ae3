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
	interp_shared_add(&p->view, &r, &p->chains.calls);
}

static struct interp_base base_in(struct process *p)
{
	const struct interp_runtime r = runtime_of(p);
	const struct interp_base_head outer = { OUTER + p->add, 25, 0x5000 };
	return interp_base_find(&r, &outer, 1, 0);
}

static enum interp_calls_found find(struct process *p, uint32_t function, uint64_t distance,
				    struct interp_link ret[INTERP_CALLS_DEPTH], size_t *ret_n)
{
	const struct interp_runtime r = runtime_of(p);
	const struct interp_base base = base_in(p);
	return interp_shared_find(&p->view, &r, &base, INTERP_ENTRY_UNKNOWN, function + p->add,
				  distance, ret, ret_n);
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
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	tap_ok(find(other, 3, 30, link, &n) == INTERP_CALLS_ONE && n == 2 &&
	       link[0].code == NAMED + 2 && link[1].code == NAMED + 1,
	       "another process knows the callers, by name");
	tap_ok(find(other, 3, 30, link, &n) == INTERP_CALLS_ONE && other->n_named == 2,
	       "each function gets a code once");
	tap_int(find(other, 3, 40, link, &n), INTERP_CALLS_NONE, "not at another distance");
	tap_int(find(other, 4, 80, link, &n), INTERP_CALLS_NONE,
		"nor through a function that may be another one");
	tap_ok(has_first(other, 1) && !has_first(other, 2), "what native code has called");
	execute(other, second, 3);
	tap_int(find(other, 3, 30, link, &n), INTERP_CALLS_SEVERAL, "two ways: none is believed");
}

/* Its functions have other codes than before. */
static void check_forgotten(struct process *other)
{
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	interp_chains_clear(&other->chains);
	interp_shared_renew(&other->view);
	other->add = 300;
	tap_int(find(other, 2, 10, link, &n), INTERP_CALLS_ONE,
		"a process that has forgotten its codes finds those of others again");
}

/* The numbers of all processes change. */
static void check_full(struct process *one, struct process *other)
{
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	uint32_t before = shared.n_clears;
	for (uint32_t i = 100; i < 20000; i++)
		execute(one, (const uint32_t[]){ i }, 1);
	tap_ok(shared.n_clears > before && shared.v.n < 20000, "too many are forgotten");
	execute(one, (const uint32_t[]){ 5, 6 }, 2);
	tap_ok(find(other, 6, 50, link, &n) == INTERP_CALLS_ONE && link[0].code == NAMED + 5,
	       "and new ones are shared");
}

static void done(struct process *p)
{
	interp_chains_done(&p->chains);
	interp_shared_view_done(&p->view);
}

int main(void)
{
	static const uint32_t first[] = { 1, 2, 3 }, hidden[] = { PRIVATE, 4 };
	struct process one = { .add = 100, .view.shared = &shared };
	struct process other = { .add = 200, .view.shared = &shared };
	struct process alone = { .add = 0 };
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	tap_int(find(&other, 3, 30, link, &n), INTERP_CALLS_NONE, "nothing is known at first");
	execute(&one, first, 3);
	execute(&one, hidden, 2);
	execute(&alone, first, 3);
	tap_int(find(&alone, 3, 30, link, &n), INTERP_CALLS_NONE, "a process that shares nothing");
	check_other(&other);
	check_forgotten(&other);
	check_full(&one, &other);
	done(&one);
	done(&other);
	done(&alone);
	interp_shared_done(&shared);
	return tap_done();
}
