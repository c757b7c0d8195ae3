/* Call trees: the whole, callees and callers. */

#include "base/err.h"
#include "view/profile-build.h"
#include "tap.h"
#include "view/model/model.h"
#include "view/table/tree.h"

#include <errno.h>

static struct model *m;
static struct rows *rows;

/* The child of a node with this name, or 0. */
static uint32_t child(const struct tree *t, uint32_t node, const char *name)
{
	uint32_t i = t->node[node].first_child;
	while (i && strcmp(rows->row[t->node[i].row].name, name) != 0)
		i = t->node[i].next_sibling;
	return i;
}

static bool has_cost(const struct tree *t, uint32_t node, int64_t flat, int64_t cum)
{
	return node && t->node[node].flat == flat && t->node[node].cum == cum;
}

static struct tree *tree_of(enum tree_way way, const char *name)
{
	struct err e = { 0 };
	struct tree *t = NULL;
	bool *start = NULL;
	if ((name && tree_find_rows(rows, "--callee", name, &start, &e) < 0) ||
	    tree_new(m, NULL, rows, 0, way, start, &t, &e) < 0)
		abort();
	free(start);
	return t;
}

static void test_all(void)
{
	struct tree *t = tree_of(TREE_ALL, NULL);
	uint32_t top = child(t, 0, "main"), f = child(t, top, "f"), g = child(t, f, "g");
	tap_ok(has_cost(t, top, 8, 15), "the root function");
	tap_ok(has_cost(t, f, 2, 7), "a callee includes its own callees");
	tap_ok(has_cost(t, g, 1, 1) && t->node[g].is_inlined, "an inlined callee");
	tap_int(t->node[top].first_child, f, "the largest child is first");
	tap_ok(has_cost(t, child(t, f, "f"), 4, 4), "a recursive call is a node of its own");
	tree_free(t);
}

static void test_from_one(void)
{
	struct tree *t = tree_of(TREE_CALLEES, "f");
	tap_ok(has_cost(t, child(t, 0, "f"), 2, 7), "callees start at the outermost frame");
	tap_ok(!child(t, 0, "main"), "callers are not in the tree of callees");
	tree_free(t);
	t = tree_of(TREE_CALLERS, "f");
	uint32_t f = child(t, 0, "f");
	tap_ok(f && t->node[f].cum == 7, "callers start at the function");
	tap_ok(has_cost(t, child(t, f, "main"), 7, 7), "a caller has the costs of its calls");
	tree_free(t);
}

static void test_find(void)
{
	struct err e = { 0 };
	bool *start = NULL;
	tap_int(tree_find_rows(rows, "--callee", "zzz", &start, &e), -ENOENT, "an unknown name");
	tap_int(tree_find_rows(rows, "--callee", "(", &start, &e), -EINVAL, "a bad expression");
	tap_int(tree_find_rows(rows, "--callee", "^[fg]$", &start, &e), 0, "an expression");
	unsigned n = 0;
	for (uint32_t i = 0; i < rows->n_rows; i++)
		n += start[i];
	tap_int(n, 2, "selects all matching rows");
	free(start);
}

int main(void)
{
	struct build b;
	struct err e = { 0 };
	BUILD(&b, "samples/count", "1 g+f main", "2 f main", "4 f f main", "8 main");
	if (model_read(b.sink.bytes.v, b.sink.bytes.n, &m, &e) < 0 ||
	    rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, &e) < 0)
		abort();
	test_all();
	test_from_one();
	test_find();
	rows_free(rows);
	model_free(m);
	build_done(&b);
	return tap_done();
}
