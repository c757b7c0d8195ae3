/* Cut stacks that are completed by a later whole one. */

#include "session/latejoin.h"
#include "tests/unit/session/engine-feed.h"
#include "tests/unit/tap.h"

#define SP 0x7000u
#define MS 1000000u

struct scene {
	struct engine g;
	struct procs_space *space;
	struct latejoin late;
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
	s->truncated = stackwalk_pseudo(&s->g.walk, s->g.walk.truncated);
}

static void close_scene(struct scene *s)
{
	latejoin_done(&s->late);
	engine_done(&s->g);
}

/* Counts and notes the cut stack [truncated] -> 31 -> leaf. */
static void cut(struct scene *s, uint64_t leaf, uint64_t pc, uint64_t cfa, uint64_t time_ns)
{
	uint32_t stack = add(s, add(s, s->truncated, 0x31), leaf);
	counts_add(&s->g.counts, 0, stack, 0, 1, 5, false);
	latejoin_note(&s->late, &(struct latejoin_cut){ .time_ns = time_ns, .value = 5, .pc = pc,
		      .cfa = cfa, .stack = stack });
}

/* The marks of the last sample that was completed. */
static struct stackmark marked;

static uint32_t label(void *ctx, uint32_t plain, const struct stackmark *mark)
{
	(void)ctx;
	marked = *mark;
	return plain;
}

static uint32_t complete(struct scene *s, uint64_t time_ns)
{
	return latejoin_complete(&s->late, &s->g.walk, s->space, &s->memo, time_ns, &s->g.counts,
				 label, NULL);
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
	tap_int(complete(&s, 2 * MS), 3, "three are completed");
	tap_int((long long)n_of(&s, "k:10;k:20;k:31;k:99"), 2, "both on top of the caller");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:99"), 0, "and no more where they were");
	tap_int((long long)n_of(&s, "k:10;k:31;k:96"), 1, "another further out");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:98"), 1, "no frame at that CFA: stays cut");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:97"), 1,
		"nor is another function at that place taken for it");
	tap_ok(marked.n_joined == 1 && marked.n_guessed == 0, "what lies outside of the joint");
	tap_int(s.late.n, 2, "these two wait");
	tap_int(complete(&s, LATEJOIN_NS_MAX + 2 * MS), 0, "but not for ever");
	tap_int(s.late.n, 0, "they are forgotten");
	close_scene(&s);
}

static void test_limits(void)
{
	struct scene s;
	open_scene(&s);
	for (unsigned int i = 0; i < LATEJOIN_CUTS_MAX + 3; i++)
		cut(&s, 0x1000 + i, s.frame[2].pc - 1, SP + 0x20, MS);
	tap_int(s.late.n, LATEJOIN_CUTS_MAX, "so many wait at most");
	s.memo.space++;
	tap_int(complete(&s, 2 * MS), 0, "a memo of another address space is none");
	s.memo.space--;
	s.id[1] = STACKS_NONE;
	tap_int(complete(&s, 2 * MS), 0, "nor are frames that memory was short for");
	s.id[1] = s.g.stacks.v[s.id[2]].parent;
	tap_int(complete(&s, 2 * MS), LATEJOIN_CUTS_MAX, "the newest are completed");
	tap_int((long long)n_of(&s, "[truncated];k:31;k:1002"), 1, "the oldest are forgotten");

	uint32_t whole = s.id[2];
	counts_add(&s.g.counts, 0, whole, 0, 1, 5, false);
	latejoin_note(&s.late, &(struct latejoin_cut){ .time_ns = MS, .value = 5, .stack = whole,
		      .pc = s.frame[2].pc - 1, .cfa = SP + 0x20 });
	latejoin_note(&s.late, &(struct latejoin_cut){ .time_ns = MS, .value = 5,
		      .stack = whole + 1, .pc = s.frame[2].pc - 1, .cfa = SP + 0x20 });
	uint32_t guessed = add(&s, add(&s, s.truncated, 0x31), 0x95);
	counts_add(&s.g.counts, 0, guessed, 0, 1, 5, false);
	latejoin_note(&s.late, &(struct latejoin_cut){ .time_ns = MS, .value = 5, .stack = guessed,
		      .mark = { .n_guessed = 1, .guessed = { 2 } }, .pc = s.frame[2].pc - 1,
		      .cfa = SP + 0x20 });
	tap_int(complete(&s, 2 * MS), 1, "a guessed frame is completed, too");
	tap_ok(marked.n_joined == 2 && marked.n_guessed == 1 && marked.guessed[0] == 3,
	       "and is further from the root then");
	uint64_t n = n_of(&s, "k:10;k:20;k:30");
	tap_ok(complete(&s, 2 * MS) == 0 && n == 1 && n_of(&s, "k:10;k:20;k:30") == 1,
	       "a stack that does not begin with the mark of a cut one is left alone");
	close_scene(&s);
}

int main(void)
{
	test_joins();
	test_limits();
	return tap_done();
}
