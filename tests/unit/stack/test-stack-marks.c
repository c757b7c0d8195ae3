/* Marks of heuristic frames and of joints: their frame numbers and their label. */

#include "agg/labels.h"
#include "base/budget.h"
#include "base/strtab.h"
#include "stack/stack-marks.h"
#include "symbolize/unwind/unwind.h"
#include "tests/unit/tap.h"

#include <string.h>

static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct stack_marks_cache cache;

/* The label's text; "" unless the set consists of that label. */
static const char *text(const struct stack_marks *m)
{
	uint32_t n, set = stack_marks_set(&cache, &strings, &labels, m);
	const struct label *l = labels_get(&labels, set, &n);
	if (set != stack_marks_set(&cache, &strings, &labels, m) || n != 1 ||
	    strcmp(strtab_get(&strings, l->key), "stack") != 0)
		return "";
	return strtab_get(&strings, l->value);
}

int main(void)
{
	strtab_init(&strings, &budget);
	labels_init(&labels, &budget);
	/* innermost first */
	struct unwind_frame frame[12] = { { .flags = UNWIND_FRAME_EXACT } };
	struct unwind_result r = { .frame = frame, .n = 12, .is_whole = true };
	struct stack_marks m;

	stack_marks_of(&r, &m);
	tap_ok(stack_marks_is_empty(&m), "a stack by CFI has no marks");
	frame[3].flags = UNWIND_FRAME_HEURISTIC | UNWIND_FRAME_CHAINED;
	stack_marks_of(&r, &m);
	tap_ok(stack_marks_is_empty(&m), "frames by the frame pointer of JIT code have no marks");

	frame[11].flags = frame[4].flags = UNWIND_FRAME_HEURISTIC;
	stack_marks_of(&r, &m);
	tap_ok(m.n_guessed == 2 && m.guessed[0] == 1 && m.guessed[1] == 8, "the root is number 1");
	tap_str(text(&m), "guessed 1 8", "the label of heuristic frames");
	r.n_joined = 3;
	stack_marks_of(&r, &m);
	tap_str(text(&m), "guessed 1 8; joined 3", "the label of heuristic frames and a joint");
	r.is_whole = false;
	stack_marks_of(&r, &m);
	tap_str(text(&m), "guessed 2 9; joined 4", "[truncated] counts as a frame");

	for (int i = 0; i < 12; i++)
		frame[i].flags = UNWIND_FRAME_HEURISTIC;
	r.n_joined = 0;
	stack_marks_of(&r, &m);
	tap_int(m.n_guessed, 12, "all heuristic frames are counted");
	tap_str(text(&m), "guessed 2 3 4 5 6 7 8 ...", "the outermost ones are listed");
	m = (struct stack_marks){ .n_joined = 5 };
	tap_str(text(&m), "joined 5", "a joint alone");

	labels_done(&labels);
	strtab_done(&strings);
	return tap_done();
}
