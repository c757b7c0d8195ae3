/*
 * A thread some of whose stacks are longer than their copies has two memos: one for the long
 * stacks, to which truncated ones are joined, and one for those that fit into their copies.  With
 * one memo, short stacks, which do not need it, would replace what the long ones need.  The
 * thread's last stack is in the current memo.  The outer part of a truncated stack is searched in
 * the current memo, in the other one, and in the memory of the process (stack-memory.c), each by a
 * probe that changes no memo.
 */

#include "stack/stack-user-lookup.h"

#include "proc/procs-space.h"
#include "source/record.h"
#include "stack/stack-fp.h"
#include "stack/stack-link.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind-memo.h"

#include <linux/perf_event.h>
/* The memo of the long stacks is discarded as stale when this many stacks have not needed it. */
#define LONG_STACKS_MAX 64u

static struct unwind_memo *memo_of(struct stack_user_memos *m, bool is_other)
{
	return m ? &m->memo[m->current ^ is_other] : NULL;
}

static void swap_memos(struct stack_user_memos *m)
{
	m->current ^= 1;
	m->n_since = 0;
}

struct unwind_memo *stack_user_memo(struct stack_user_memos *m)
{
	return memo_of(m, false);
}

void stack_user_memos_done(struct stack_user_memos *m)
{
	unwind_memo_done(&m->memo[0]);
	unwind_memo_done(&m->memo[1]);
	*m = (struct stack_user_memos){ .current = 0 };
}

size_t stack_user_memos_bytes(const struct stack_user_memos *m)
{
	return (m->memo[0].cap + m->memo[1].cap) *
	       (sizeof(*m->memo[0].frame) + sizeof(*m->memo[0].caller_id));
}

/* One sample. */
struct sample_walk {
	struct stack_user *u;
	struct stack_user_lookup *lookup;
	const struct record *r;
	struct unwind_input *in;
	struct stack_user_memos *memos;  /* or NULL */
	bool is_gone;                   /* the stack's memory is gone: see is_in_exec() */
};

/* Unwinds again and updates the memo.  A stack that the first attempt stored has no ids of the
 * caller's yet, so it must not be treated as unchanged. */
static void unwind_again(const struct sample_walk *k, const struct unwind_input *in, bool is_other,
			 struct unwind_result *ret)
{
	if (k->memos && ret->is_kept)
		memo_of(k->memos, false)->n = 0;
	if (is_other)
		swap_memos(k->memos);
	unwind_stack(k->u->unwind, in, memo_of(k->memos, false), ret);
}

/* The current memo does not have the part of a stack beyond its copy: does the other one? */
static bool try_other_memo(const struct sample_walk *k, struct unwind_result *ret)
{
	struct unwind_memo *other = memo_of(k->memos, true);
	if (!other || !other->is_long || other->n == 0 || other->space != k->in->space)
		return false;
	struct unwind_input in = *k->in;
	struct unwind_result probe;
	in.is_probe = true;
	unwind_stack(k->u->unwind, &in, other, &probe);
	if (probe.is_whole)
		unwind_again(k, k->in, true, ret);
	return probe.is_whole;
}

/* Tries to reach the root or the memo's frames in the memory of the process. */
static bool try_memory(const struct sample_walk *k, struct unwind_result *ret)
{
	struct stack_user *u = k->u;
	struct unwind_memo *m = memo_of(k->memos, false);
	bool is_other = m && !m->is_long;
	struct unwind_input in = *k->in;
	struct unwind_result probe;
	in.is_probe = in.is_long = true;
	probe.cut_cfa = ret->cut_cfa;
	struct stack_user_memos *memos = k->memos;
	if (memos && !stack_memory_is_due(memos->n_vain, k->r->time_ns - memos->tried_ns))
		return false;
	if (memos) {
		memos->n_vain++;
		memos->tried_ns = k->r->time_ns;
	}
	do {
		if (!stack_memory_lengthen(&u->memory, k->r->tid, k->r->time_ns, probe.cut_cfa,
					   &in))
			return false;
		unwind_stack(u->unwind, &in, memo_of(k->memos, is_other), &probe);
	} while (probe.end == UNWIND_BEYOND && !probe.is_whole);
	uint64_t end = in.regs->r[u->arch->sp] + k->in->n_stack_bytes;
	if ((!probe.is_whole && probe.end != UNWIND_DEPTH) ||
	    !stack_memory_is_proved(u->arch, stack_user_find_module, k->lookup, &probe, m, end))
		return false;
	in.is_probe = false;
	unwind_again(k, &in, is_other, ret);
	u->n_deep++;
	if (memos)
		memos->n_vain = 0;
	return true;
}

static void unwind_sample(const struct sample_walk *k, struct unwind_result *ret)
{
	struct unwind_memo *m = memo_of(k->memos, false), *other = memo_of(k->memos, true);
	unwind_stack(k->u->unwind, k->in, m, ret);
	if (m && other->is_long && k->memos->n_since++ >= LONG_STACKS_MAX)
		other->n = 0;
	if (m && ret->end == UNWIND_ROOT && m->is_long && !ret->is_kept)
		unwind_again(k, k->in, true, ret);
	if (ret->is_whole || ret->end != UNWIND_BEYOND || try_other_memo(k, ret) ||
	    (!k->is_gone && try_memory(k, ret)))
		return;
	/* the probes have overwritten the frames */
	k->in->is_probe = !ret->is_kept;
	unwind_again(k, k->in, false, ret);
}

int64_t stack_user_caller(struct stack_user *u, struct procs_space *space,
			  const struct unwind_memo *memo, uint64_t pc, uint64_t cfa)
{
	struct stack_user_lookup lookup = { .u = u, .space = space };
	if (memo->space != stack_user_serial(space))
		return -1;
	return unwind_memo_caller(memo, stack_user_find_module, &lookup, pc, cfa);
}

/*
 * Is a thread whose stack cannot be copied in a system call?  The call has just written to the page
 * of the stack pointer, so it must be execve, which unmaps the old program's memory before it
 * reports the new program.
 */
static bool is_in_exec(struct stack_user_lookup *l, uint64_t pc)
{
	const struct arch_bytes *syscall = &l->u->arch->syscall;
	uint8_t code[ARCH_BYTES_MAX];
	struct module m;
	return stack_user_find_module(l, pc, &m) && m.cfi &&
	       arch_begins(code, cfi_read_code(m.cfi, pc - syscall->n - m.bias, code, syscall->n),
			   syscall);
}

/* Has the first frame no caller because its return address is in an unknown register? */
static bool lacks_link(const struct stack_user *u, const struct unwind_regs *regs,
		       const struct unwind_result *r)
{
	return !arch_pushes_ra(u->arch) && !(regs->valid >> u->arch->link & 1) && r->n == 1 &&
	       r->end == UNWIND_BAD_CFI;
}

bool stack_user_walk(struct stack_user *u, struct procs_space *space, const struct record *r,
		     struct stack_user_memos *memos, struct unwind_result *ret)
{
	const struct record_sample *s = &r->sample;
	if (!s->user_regs)
		return false;
	if (!u->unwind || s->user_abi != PERF_SAMPLE_REGS_ABI_64) {
		u->n_unsupported++;
		return false;
	}
	struct stack_user_lookup lookup = { .u = u, .space = space, .pid = r->pid, .tid = r->tid };
	struct unwind_regs regs;
	unwind_regs_from_perf(u->arch, s->user_regs_mask, s->user_regs, &regs);
	/* in the middle of execve the registers are those of the old program, whose code and stack
	 * are gone */
	if (!s->n_user_stack_bytes && !procs_space_find(space, regs.r[u->arch->pc]))
		return false;
	struct unwind_input in = {
		.regs = &regs, .stack = s->user_stack, .n_stack_bytes = s->n_user_stack_bytes,
		.ctx = &lookup, .space = stack_user_serial(space),
	};
	struct sample_walk k = { .u = u, .lookup = &lookup, .r = r, .in = &in, .memos = memos };
	k.is_gone = !in.n_stack_bytes && is_in_exec(&lookup, regs.r[u->arch->pc]);
	unwind_sample(&k, ret);
	u->fp = ret->end == UNWIND_NO_FP && !memos ?
			stack_fp_find(u->unwind, u->arch, stack_user_find_module, &in, &regs, ret) :
			STACK_FP_NONE;
	if (lacks_link(u, &regs, ret) && !memos &&
	    stack_link_find(u->unwind, u->arch, stack_user_find_module, &in, &regs, ret))
		u->fp = STACK_FP_GUESSED;
	/* the memory is gone, or the page of the stack pointer is touched for the first time */
	if (!in.n_stack_bytes && !ret->is_whole && ret->end == UNWIND_BEYOND)
		ret->end = UNWIND_NO_STACK;
	stack_user_count(u, space, ret);
	if (ret->n > 0)
		stack_switch_follow(&u->outer, u->arch, stack_user_find_module, &in, r, ret);
	return ret->n > 0;
}
