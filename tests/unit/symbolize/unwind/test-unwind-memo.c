/* What the unwinder remembers of the last stack of a thread: frames that it need not read again and
 * those that the next copy does not reach. */

#include "tests/unit/symbolize/unwindworld.h"
#include "tests/unit/tap.h"

static void memo(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 10);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.n_same == 0 && w.r.is_kept && m.n == 11,
	       "the first stack is kept");
	for (uint32_t i = 0; i < m.n; i++)
		m.caller_id[i] = 100 + i;
	uint64_t before = unwind_stats(w.u)->n_reused;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.n_same == 10 && w.r.frame[0].pc == PC(F_PUSH) + 1 &&
	       m.caller_id[9] == 109, "another pc in the innermost frame");
	tap_int((long long)(unwind_stats(w.u)->n_reused - before), 9, "outer frames were reused");

	w.stack[4 * 5 + 3] = PC(F_PUSH) + 2;    /* frame 6's return address */
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && w.r.frame[6].pc == PC(F_PUSH) + 2 && w.r.n_same == 4,
	       "a changed return address ends the reuse, further out it goes on");

	/* two frames deeper */
	memmove(w.stack + 8, w.stack, 60 * 8);
	w.stack[3] = w.stack[7] = PC(F_PUSH);
	w.regs.r[7] = SP;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 13 && w.r.n_same == 0, "another sp: nothing is reused");
	struct world v;
	open_world(&v, &arch_x86_64, 0);
	memcpy(v.stack, w.stack, sizeof(v.stack));
	run(&v, PC(F_PUSH), &arch_x86_64, NULL);
	bool same = v.r.n == w.r.n;
	for (uint32_t i = 0; same && i < v.r.n; i++)
		same = v.r.frame[i].pc == w.r.frame[i].pc &&
		       m.frame[v.r.n - 1 - i].pc == v.r.frame[i].pc;
	tap_ok(same, "stacks are the same with and without a memo");
	close_world(&v);

	w.space++;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 13 && w.r.n_same == 0, "a new address space drops the memo");
	unwind_memo_done(&m);
	close_world(&w);
}

/* Two truncated stacks in a row; the second copy holds one more frame. */
static void further(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.n == 11 && !w.r.is_whole && w.r.is_kept, "a truncated stack is kept at first");
	w.n_stack_bytes = 11 * 32;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 12 && w.r.n_same == 0, "with one more outer frame nothing is reused");
	bool same = m.n == 12;
	for (uint32_t i = 0; same && i < 12; i++)
		same = m.frame[11 - i].sp == w.r.frame[i].sp;
	tap_ok(same, "the memo has that frame, too");
	unwind_memo_done(&m);
	close_world(&w);
}

static void join(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.n == 21 && w.r.end == UNWIND_BEYOND && w.r.n_joined == 10 &&
		       w.r.frame[20].pc == PC(F_START) &&
		       w.r.frame[11].flags & UNWIND_FRAME_JOINED &&
		       !(w.r.frame[10].flags & UNWIND_FRAME_JOINED),
	       "a truncated stack is joined to the last complete one");
	tap_int(w.r.n_same, 0, "a joined stack differs from one that is not");
	run(&w, PC(F_PUSH) + 2, &arch_x86_64, &m);
	tap_ok(w.r.n_joined == 10 && w.r.n_same == 20, "the same joint again is reused");
	w.n_stack_bytes = sizeof(w.stack);
	run(&w, PC(F_PUSH) + 3, &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_ROOT && !w.r.n_joined &&
		       !(w.r.frame[20].flags & UNWIND_FRAME_JOINED),
	       "joined frames inside the copy are verified");
	/* the copy ends in the innermost frame, whose pc has moved on */
	w.n_stack_bytes = 8;
	run(&w, PC(F_PUSH) + 5, &arch_x86_64, &m);
	tap_ok(w.r.n == 21 && w.r.n_joined == 20, "joined by function and CFA");
	run(&w, PC(F_SAVES), &arch_x86_64, &m);
	tap_ok(w.r.n == 1 && !w.r.n_joined && !w.r.is_kept,
	       "another function at that CFA is not joined");
	for (int i = 0; i < 20; i++)
		run(&w, PC(F_SAVES), &arch_x86_64, &m);
	tap_ok(w.r.is_kept && m.n == 1, "after many truncated stacks the old one is discarded");
	unwind_memo_done(&m);
	close_world(&w);
}

/* A stack longer than its copy is replaced by a complete one only after a while. */
static void is_long(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	chain(&w, 20);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(!m.is_long, "a stack that fits in its copy");
	w.n_stack_bytes = 10 * 32;
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(m.is_long && w.r.is_kept && w.r.cut_cfa == 0, "a joined stack is long");
	w.n_stack_bytes = sizeof(w.stack);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(m.is_long && !w.r.is_kept && w.r.end == UNWIND_ROOT, "it outlives a short one");
	for (int i = 0; i < 20; i++)
		run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(!m.is_long && w.r.is_kept, "but not many short ones");
	struct unwind_input in = { .regs = &w.regs, .stack = (const uint8_t *)w.stack,
		.n_stack_bytes = 10 * 32, .ctx = &w, .space = w.space, .is_probe = true };
	unwind_stack(w.u, &in, &m, &w.r);
	tap_ok(w.r.n_joined && !w.r.is_kept && !m.is_long && m.n_joined == 0,
	       "a probe joins and does not change the memo");
	unwind_stack(w.u, &in, NULL, &w.r);
	tap_ok(!w.r.is_whole && w.r.cut_cfa == AT(44),
	       "a truncated stack reports the CFA of the missing frame");
	unwind_memo_done(&m);
	close_world(&w);
}

/* The return address of a function that jumps to a handler is already overwritten: no code of these
 * functions calls F_EH. */
static void handler(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 0);
	w.stack[3] = PC(F_EH);
	w.stack[11] = PC(F_PUSH);
	w.stack[15] = PC(F_START);
	run(&w, PC(F_PUSH), &arch_x86_64, NULL);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH), PC(F_EH)) && w.r.cut_cfa == AT(12) &&
		       !w.r.is_whole,
	       "the return address of an exception handler is not a caller's");
	struct unwind_frame frame[3] = { { .pc = PC(F_START), .sp = AT(16) },
		{ .pc = PC(F_RBX), .sp = AT(12) }, { .pc = PC(F_EH), .sp = AT(4) } };
	uint32_t id[3] = { 1, 2, 3 };
	m = (struct unwind_memo){ .frame = frame, .caller_id = id, .n = 3, .is_whole = true,
		.space = w.space };
	struct unwind_input in = { .regs = &w.regs, .stack = (const uint8_t *)w.stack,
		.n_stack_bytes = w.n_stack_bytes, .ctx = &w, .space = w.space, .is_probe = true };
	unwind_stack(w.u, &in, &m, &w.r);
	tap_ok(IS(&w, UNWIND_BAD_PC, PC(F_PUSH), PC(F_EH), PC(F_RBX), PC(F_START)) &&
		       w.r.n_joined == 2 && w.r.is_whole,
	       "the memo knows its caller");
	close_world(&w);
}

static void depth(void)
{
	struct world w;
	struct unwind_memo m = { 0 };
	open_world(&w, &arch_x86_64, 16);
	chain(&w, 100);
	run(&w, PC(F_PUSH), &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_DEPTH && w.r.n == 16, "depth limit");
	run(&w, PC(F_PUSH) + 1, &arch_x86_64, &m);
	tap_ok(w.r.end == UNWIND_DEPTH && w.r.n == 16, "depth limit with a memo");
	unwind_memo_done(&m);
	close_world(&w);
}

int main(void)
{
	memo();
	further();
	join();
	is_long();
	handler();
	depth();
	return tap_done();
}
