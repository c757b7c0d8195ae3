#include "agg/stacks.h"

#include "base/budget.h"
#include "tap.h"

static void test_tree(void)
{
	struct budget b;
	struct stacks s;
	budget_init(&b, 0);
	tap_int(stacks_init(&s, &b), 0, "init");
	tap_int(s.n, 1, "the empty stack is there");
	uint32_t start = stacks_add(&s, STACKS_EMPTY, 10, false);
	uint32_t a = stacks_add(&s, start, 11, false);
	uint32_t c = stacks_add(&s, start, 12, false);
	uint32_t ac = stacks_add(&s, a, 12, false);
	tap_ok(start == 1 && a == 2 && c == 3 && ac == 4, "ids count up");
	tap_int(stacks_add(&s, a, 12, false), ac, "the same stack, the same id");
	tap_int(stacks_add(&s, STACKS_EMPTY, 10, false), start, "the same root, the same id");
	tap_ok(s.v[ac].parent == a && s.v[a].parent == start && s.v[start].parent == STACKS_EMPTY &&
		       s.v[ac].frame == 12,
	       "parents lead to the root");
	tap_int(stacks_find(&s, a, 12), ac, "find");
	tap_int(stacks_find(&s, c, 11), STACKS_NONE, "an unknown node is not found");
	tap_int(stacks_find(&s, STACKS_EMPTY, UINT32_MAX), STACKS_NONE,
		"the empty stack is nobody's callee");
	tap_int(s.n, 5, "a look-up adds nothing");
	uint32_t x = stacks_add(&s, 0, 0, false);
	tap_ok(x == 5 && stacks_add(&s, 0, 0, false) == 5, "frame 0 at the root");
	uint32_t deep = STACKS_EMPTY;
	for (int i = 0; i < 10000; i++)
		deep = stacks_add(&s, deep, 77, false);
	int depth = 0;
	for (uint32_t i = deep; i != STACKS_EMPTY; i = s.v[i].parent)
		depth++;
	tap_int(depth, 10000, "a recursion 10000 deep");
	tap_int(s.index.n, 4, "indexed: only c, ac, x and the start of the recursion");
	stacks_done(&s);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

/* Against a plain table, with nodes added in random order. */
static void test_random(void)
{
	static uint32_t known[300][300];
	struct stacks s;
	uint64_t seed = 5;
	int n_wrong = 0;
	stacks_init(&s, NULL);
	for (int i = 0; i < 400000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint32_t parent = (uint32_t)(seed >> 33) % (s.n < 300 ? s.n : 300);
		uint32_t frame = (uint32_t)(seed >> 48) % 300;
		uint32_t id = stacks_add(&s, parent, frame, false);
		n_wrong += known[parent][frame] && known[parent][frame] != id;
		n_wrong += !known[parent][frame] && id != s.n - 1;
		known[parent][frame] = id;
		n_wrong += s.v[id].parent != parent || s.v[id].frame != frame;
	}
	tap_int(n_wrong, 0, "400000 random additions");
	tap_ok(s.n > 80000, "%u distinct stacks", s.n);
	tap_ok(s.index.n < s.n, "%u of them need an index entry", s.index.n);
	stacks_done(&s);
}

static void test_budget(void)
{
	struct budget b;
	struct stacks s;
	budget_init(&b, 50000);
	stacks_init(&s, &b);
	uint32_t n = 0, at = STACKS_EMPTY;
	for (uint32_t id; (id = stacks_add(&s, at, 3, false)) != STACKS_NONE; at = id)
		n++;
	tap_ok(n >= 1000 && b.peak_bytes <= 50000, "a depth of %u fits into 50000 bytes", n);
	int n_wrong = 0;
	at = STACKS_EMPTY;
	for (uint32_t i = 0; i < n; i++) {
		at = stacks_add(&s, at, 3, false);
		n_wrong += at != i + 1;
	}
	tap_int(n_wrong, 0, "existing entries are still found");
	tap_int(stacks_add(&s, at, 3, false), STACKS_NONE, "a new node is refused");
	tap_int(stacks_add(&s, STACKS_EMPTY, 4, true), n + 1, "with 'always' it is added");
	stacks_done(&s);
	tap_int((long long)b.used_bytes, 0, "all memory is released");
}

int main(void)
{
	test_tree();
	test_random();
	test_budget();
	return tap_done();
}
