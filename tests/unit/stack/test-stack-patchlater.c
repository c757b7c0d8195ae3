/* Truncated stacks that are completed by a later whole one. */

#include "stack/stack-patchlater.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#define SP 0x7000u
#define MS 1000000u

struct scene {
	struct engine g;
	struct procs_space *space;
	struct stack_patchlater late;
	struct stack_patchlater_pool pool;
	struct unwind_memo memo;
	struct unwind_frame frame[3];
	uint32_t id[3];
	uint32_t truncated;
};

static uint32_t add(struct scene *s, uint32_t parent, uint64_t vaddr)
{
	uint32_t dso = s->g.walk.kernel_dso;  /* any will do */
	return stacks_add(&s->g.stacks, parent,
			  frames_add(&s->g.frames, dso, vaddr, false), false);
}

/* The whole stack 10 -> 20 -> 30, the frame 20 at SP + 0x20. */
static void open_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	feed_open(&s->g, 0);
	feed_mmap(&s->g, 7, 0x10000, 0x1000, 0, "/bin/a");
	s->space = &procs_thread(&s->g.procs, 7, 7)->process->space;
	uint32_t node = STACKS_EMPTY;
	for (uint32_t i = 0; i < 3; i++) {
		s->frame[i] = (struct unwind_frame){ .pc = 0x10010 + 16 * i,
			.sp = SP + 0x30 - 0x10 * i };
		s->id[i] = node = add(s, node, 0x10 + 0x10 * i);
	}
	s->memo = (struct unwind_memo){ .frame = s->frame, .caller_id = s->id, .n = 3,
		.is_whole = true,
		.space = (uint64_t)s->space->serial << 32 | s->space->n_changes };
	s->truncated = stack_walk_pseudo(&s->g.walk, s->g.walk.truncated);
	s->late.pool = &s->pool;
}

static void close_scene(struct scene *s)
{
	stack_patchlater_done(&s->late);
	engine_done(&s->g);
}

/* The marks of the last sample that was completed. */
static struct stack_marks marked;

static uint32_t label(void *ctx, uint32_t plain, const struct stack_marks *mark)
{
	(void)ctx;
	marked = *mark;
	return plain;
}

static struct stack_patchlater_to to_of(struct scene *s)
{
	return (struct stack_patchlater_to){
		.stacks = &s->g.stacks, .user = &s->g.walk.user, .counts = &s->g.counts,
		.truncated = s->g.walk.truncated, .label = label,
	};
}

/* What the last call has completed. */
static struct stack_patchlater_completed completed;

static uint32_t n_of_both(struct stack_patchlater_completed n)
{
	completed = n;
	return n.n_beyond + n.n_cut;
}

/* Notes a stack that is counted; returns how many were completed. */
static uint32_t note(struct scene *s, struct stack_patchlater_cut cut,
		     const struct unwind_frame *frame, uint32_t n)
{
	const struct stack_patchlater_to to = to_of(s);
	cut.n_samples = 1;
	cut.value = 5;
	cut.space = s->memo.space;
	return n_of_both(stack_patchlater_note(&s->late, &cut, frame, n, &to));
}

/* Counts and notes the truncated stack [truncated] -> 31 -> leaf. */
static void cut(struct scene *s, uint64_t leaf, uint64_t pc, uint64_t cfa, uint64_t time_ns)
{
	uint32_t stack = add(s, add(s, s->truncated, 0x31), leaf);
	counts_add(&s->g.counts, 0, stack, 0, 1, 5, false);
	note(s,
	     (struct stack_patchlater_cut){
		     .time_ns = time_ns, .pc = pc, .cfa = cfa, .stack = stack },
	     NULL, 0);
}

static uint32_t complete(struct scene *s, uint64_t time_ns)
{
	const struct stack_patchlater_to to = to_of(s);
	return n_of_both(
		stack_patchlater_complete(&s->late, s->space, &s->memo, time_ns, &to));
}

static uint64_t n_of(const struct scene *s, const char *text)
{
	for (uint32_t i = 0; i < s->g.counts.n; i++)
		if (!strcmp(feed_stack_text(&s->g, s->g.counts.v[i].stack), text))
			return s->g.counts.v[i].n_samples;
	return 0;
}

static void test_joins(void)
{
	struct scene s;
	open_scene(&s);
	/* a return address in the memo's innermost function, called from its frame at SP + 0x20 */
	cut(&s, 0x99, s.frame[2].pc - 1, SP + 0x20, MS);
	cut(&s, 0x99, s.frame[2].pc - 1, SP + 0x20, MS);
	cut(&s, 0x98, s.frame[2].pc - 1, SP + 0x28, MS);
	cut(&s, 0x97, s.frame[1].pc - 1, SP + 0x20, MS);
	cut(&s, 0x96, s.frame[1].pc - 1, SP + 0x30, MS);
	tap_int(complete(&s, 2 * MS), 3, "three stacks are completed");
	tap_int((long long)n_of(&s, "k:10;k:20;k:31;k:99"), 2, "two of them on top of the caller");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:99"), 0,
		"and they are no longer counted as truncated");
	tap_int((long long)n_of(&s, "k:10;k:31;k:96"), 1, "one further out");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:98"), 1,
		"no frame at that CFA: stays truncated");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:97"), 1,
		"another function at that CFA: stays truncated");
	tap_ok(marked.n_joined == 1 && marked.n_guessed == 0,
	       "the mark counts the frames outside of the joint");
	tap_int(s.late.n_waiting, 2, "these two keep waiting");
	tap_int(complete(&s, STACK_PATCHLATER_NS_MAX + 3 * MS), 0, "but not forever");
	tap_ok(s.late.n == 0 && stack_patchlater_bytes(&s.late) == 0, "old ones are forgotten");
	close_scene(&s);
}

static void test_limits(void)
{
	struct scene s;
	open_scene(&s);
	for (unsigned int i = 0; i < STACK_PATCHLATER_CUTS_MAX; i++)
		cut(&s, 0x1000 + i, s.frame[2].pc - 1, SP + 0x20, MS);
	tap_int(s.late.n_waiting, STACK_PATCHLATER_CUTS_MAX,
		"the number of waiting stacks is limited");
	cut(&s, 0x2000, s.frame[2].pc - 1, SP + 0x20, MS);
	uint32_t n = s.late.n_waiting;
	tap_ok(n > STACK_PATCHLATER_CUTS_MAX / 2 && n < STACK_PATCHLATER_CUTS_MAX,
	       "with one more, some are forgotten");
	s.memo.space++;
	tap_int(complete(&s, 2 * MS), 0, "a memo of another address space completes nothing");
	s.memo.space--;
	s.id[1] = STACKS_NONE;
	tap_int(complete(&s, 2 * MS), 0, "nor do frames for which there was no memory");
	s.id[1] = s.g.stacks.v[s.id[2]].parent;
	tap_int(complete(&s, 2 * MS), n, "all other stacks are completed");
	tap_ok(completed.n_beyond == 0 && completed.n_cut == n,
	       "none of them is longer than its copy");
	tap_ok(n_of(&s, "[truncated];k:31;k:1000") == 1 && n_of(&s, "k:10;k:20;k:31;k:2000") == 1,
	       "the oldest ones were forgotten");

	uint32_t whole = s.id[2];
	counts_add(&s.g.counts, 0, whole, 0, 1, 5, false);
	struct stack_patchlater_cut other = {
		.time_ns = MS, .stack = whole, .pc = s.frame[2].pc - 1, .cfa = SP + 0x20
	};
	note(&s, other, NULL, 0);
	other.stack = whole + 1;
	note(&s, other, NULL, 0);
	uint32_t guessed = add(&s, add(&s, s.truncated, 0x31), 0x95);
	counts_add(&s.g.counts, 0, guessed, 0, 1, 5, false);
	other.stack = guessed;
	other.mark = (struct stack_marks){ .n_guessed = 1, .guessed = { 2 } };
	other.is_beyond = true;
	note(&s, other, NULL, 0);
	tap_int(complete(&s, 2 * MS), 1, "a stack with a heuristic frame is completed, too");
	tap_ok(completed.n_beyond == 1 && completed.n_cut == 0,
	       "stacks longer than their copies are counted apart");
	tap_ok(marked.n_joined == 2 && marked.n_guessed == 1 && marked.guessed[0] == 3,
	       "and the frame's number becomes larger");
	tap_ok(complete(&s, 2 * MS) == 0 && n_of(&s, "k:10;k:20;k:30") == 1,
	       "a stack that does not begin with [truncated] is not changed");
	close_scene(&s);
}

/*
 * A recursion: the frame of depth d, at SP - 0x10 * d, returns to 0x10100 + d.  Counts and notes
 * the stack from depth `from` down to `to`, its leaf 0x11000 + to.
 */
static uint32_t recursion(struct scene *s, uint32_t from, uint32_t to, uint64_t moved,
			  uint64_t time_ns)
{
	struct unwind_frame frame[64];
	uint32_t n = 0, node = s->truncated;
	for (uint32_t d = from; d <= to; d++)
		node = add(s, node, 0x100 + d);
	for (uint32_t d = to + 1; d-- > from;)
		frame[n++] = (struct unwind_frame){ .pc = 0x10100 + d,
						    .sp = SP - 0x10 * d - moved };
	counts_add(&s->g.counts, 0, node, 0, 1, 5, false);
	return note(s, (struct stack_patchlater_cut){ .time_ns = time_ns, .pc = frame[n - 1].pc - 1,
		      .cfa = SP - 0x10 * (from - 1) - moved, .stack = node }, frame, n);
}

/* The number of samples in a stack that begins at the root and has all frames 0x100 + 1 .. to. */
static uint64_t n_whole(const struct scene *s, uint32_t to)
{
	for (uint32_t i = 0; i < s->g.counts.n; i++) {
		uint32_t node = s->g.counts.v[i].stack, d = to;
		const struct stack_node *v = s->g.stacks.v;
		while (d > 0 && s->g.frames.v[v[node].frame].vaddr == 0x100 + d)
			node = v[node].parent, d--;
		if (d == 0 && node == s->id[1])
			return s->g.counts.v[i].n_samples;
	}
	return 0;
}

static void test_pieces(void)
{
	struct scene s;
	open_scene(&s);
	/* the memo: 10 -> 20 -> depth 1 .. 10 */
	struct unwind_frame frame[12];
	uint32_t id[12] = { s.id[0], s.id[1] };
	frame[0] = s.frame[0];
	frame[1] = (struct unwind_frame){ .pc = 0x10020, .sp = SP };
	for (uint32_t d = 1; d <= 10; d++) {
		frame[d + 1] = (struct unwind_frame){ .pc = 0x10100 + d, .sp = SP - 0x10 * d };
		id[d + 1] = add(&s, id[d], 0x100 + d);
	}
	s.memo.frame = frame;
	s.memo.caller_id = id;
	s.memo.n = 12;
	tap_int(recursion(&s, 41, 60, 0, MS), 0,
		"a part of a recursion far from any whole stack waits");
	tap_int(recursion(&s, 21, 50, 0, 2 * MS), 0, "another part waits, too");
	tap_int(complete(&s, 3 * MS), 0,
		"a whole stack that does not reach them completes nothing");
	tap_int(recursion(&s, 5, 30, 0, 4 * MS), 3,
		"a third part is put on it, and the others on that part");
	tap_ok(n_whole(&s, 60) == 1 && n_whole(&s, 50) == 1 && n_whole(&s, 30) == 1,
	       "the completed stacks have all frames");
	tap_int(marked.n_joined, 42, "the mark counts the frames of other stacks");
	tap_int(recursion(&s, 45, 62, 0, 5 * MS), 1, "the next part finds the completed ones");
	tap_int((long long)n_whole(&s, 62), 1, "and is completed at once");
	tap_int(recursion(&s, 41, 60, 0, 6 * MS), 1,
		"so is one that is truncated at the same frame");
	tap_int((long long)n_whole(&s, 60), 2, "and is counted as the same stack");
	tap_int(recursion(&s, 45, 62, 8, 7 * MS), 0,
		"frames at other stack addresses do not match");
	tap_int(recursion(&s, 60, 62, 0x100, 7 * MS), 0,
		"nor do other functions at the same stack addresses");
	tap_int(recursion(&s, 62, 62, 0, 7 * MS), 0, "nor does a single frame");
	s.memo.space++;
	tap_int(recursion(&s, 45, 62, 0, 7 * MS), 0, "nor frames in another address space");
	s.memo.space--;
	tap_int(recursion(&s, 45, 62, 0, 8 * MS + STACK_PATCHLATER_NS_MAX), 0,
		"nor after a long time");
	stack_patchlater_done(&s.late);
	tap_ok(stack_patchlater_bytes(&s.late) == 0 && s.pool.n_places == 0,
	       "all memory is released");

	s.pool.n_places = STACK_PATCHLATER_PLACES_MAX;
	recursion(&s, 5, 30, 0, 500 * MS);
	tap_int(recursion(&s, 21, 50, 0, 500 * MS), 0,
		"without room for places nothing is completed by parts");
	tap_int(complete(&s, 501 * MS), 1, "but a whole stack still completes it");
	stack_patchlater_done(&s.late);
	tap_ok(s.pool.n_places == STACK_PATCHLATER_PLACES_MAX &&
		       stack_patchlater_bytes(&s.late) == 0,
	       "no place was allocated");
	close_scene(&s);
}

int main(void)
{
	test_pieces();
	test_joins();
	test_limits();
	return tap_done();
}
