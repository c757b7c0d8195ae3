/*
 * The kernel's callchain begins with the sample's address and contains all return addresses that
 * the frame pointers lead to, on both stacks.  For the stack that was unwound, CFI is more
 * reliable.  The other stack begins after the return address in the function that has switched
 * stacks.  If the function called there has not set up a frame yet, it begins with the first return
 * address whose frame is not in the copy.
 *
 * Frame pointers may lead anywhere.  So each return address must have a call before it, and the
 * first one must follow a call that leads to the switch.
 */

#include "stack/stack-switch.h"

#include "base/hash.h"
#include "source/record.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-call.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Known answers about addresses, direct-mapped. */
struct stack_switch_known {
	uint64_t key;
	uint64_t ra;
	uint32_t verdict;
};
#define STACK_SWITCH_KNOWN 4096u

void stack_switch_done(struct stack_switch *s)
{
	free(s->known);
	*s = (struct stack_switch){ .n = 0 };
}

/* The entry for a key; true: its answer is known. */
static bool chain_known(const struct stack_switch *s, uint64_t key, struct stack_switch_known **ret)
{
	*ret = &s->known[key % STACK_SWITCH_KNOWN];
	key |= 1;
	if ((*ret)->key == key)
		return true;
	(*ret)->key = key;
	return false;
}

/* The return addresses of the callchain's user part, without the sample's own address. */
static const uint64_t *chain_of_user(const struct record_sample *s, uint32_t *ret_n)
{
	uint64_t i = 0;
	while (i < s->n_callchain && s->callchain[i] != (uint64_t)PERF_CONTEXT_USER)
		i++;
	i += 2;
	*ret_n = 0;
	while (i + *ret_n < s->n_callchain && s->callchain[i + *ret_n] &&
	       s->callchain[i + *ret_n] < (uint64_t)PERF_CONTEXT_MAX)
		++*ret_n;
	return *ret_n ? s->callchain + i : NULL;
}

/* The word at address `at` of a stack's copy that begins at sp. */
static bool chain_word(const struct unwind_input *in, uint64_t sp, uint64_t at, uint64_t *ret)
{
	uint64_t off = at - sp;
	if (off >= in->n_stack_bytes || in->n_stack_bytes - off < sizeof(*ret))
		return false;
	memcpy(ret, in->stack + off, sizeof(*ret));
	return true;
}

/* How many of the chain's addresses belong to the stack that was unwound; n: unknown. */
static uint32_t chain_n_inner(const struct arch *arch, const struct unwind_input *in,
			      const struct unwind_frame *last, const uint64_t *ra, uint32_t n)
{
	if (!(last->flags & UNWIND_FRAME_EXACT))
		for (uint32_t i = 0; i < n; i++)
			if (ra[i] == last->pc)
				return i + 1;
	/* arm64 keeps the frame pointer below the frame, where the copy does not reach */
	if (!arch_pushes_ra(arch))
		return n;
	uint64_t sp = in->regs->r[arch->sp], fp = in->regs->r[arch->fp], word;
	for (uint32_t i = 0; i < n; i++) {
		struct cfi_slots at = cfi_slots(&arch->by_fp, fp);
		if (at.fp < sp || at.fp >= last->sp)
			return i;
		if (!chain_word(in, sp, at.ra, &word) || word != ra[i] ||
		    !chain_word(in, sp, at.fp, &fp))
			return n;
	}
	return n;
}

static uint64_t chain_at(const struct unwind_frame *f)
{
	return f->pc - !(f->flags & UNWIND_FRAME_EXACT);
}

void stack_switch_follow(struct stack_switch *s, const struct arch *arch,
			 module_find *find_module,
			 const struct unwind_input *in, const struct record *r,
			 const struct unwind_result *stack)
{
	const struct unwind_frame *last = &stack->frame[stack->n - 1];
	struct stack_switch_known *k;
	uint32_t n, n_inner;
	s->n = 0;
	s->between = 0;
	s->is_whole = false;
	if (stack->end != UNWIND_ROOT || !(last->flags & UNWIND_FRAME_SWITCH))
		return;
	s->n_switched++;
	const uint64_t *ra = chain_of_user(&r->sample, &n);
	if (n == 0 || (n_inner = chain_n_inner(arch, in, last, ra, n)) == n)
		return;
	if (!s->known && !(s->known = calloc(STACK_SWITCH_KNOWN, sizeof(*s->known))))
		return;
	ra += n_inner;
	n -= n_inner;
	uint64_t called = stack->n > 1 ? chain_at(last - 1) : 0, salt = hash_u64(in->space);
	if (!chain_known(s, hash_u64(ra[0] + hash_u64(called + hash_u64(last->pc + salt))), &k))
		k->verdict = runtime_caller(&(struct runtime_switch){
			.arch = arch, .find_module = find_module, .ctx = in->ctx,
			.at = chain_at(last), .called_at = called, .ra = ra[0] }, &k->ra);
	if (k->verdict == RUNTIME_CALLER_DENIED)
		return;
	s->between = k->verdict == RUNTIME_CALLER_BETWEEN ? k->ra : 0;
	s->ra = ra;
	for (uint32_t i = 0; i < n && !s->is_whole; i++) {
		if (!chain_known(s, hash_u64(ra[i] + salt), &k))
			k->verdict = unwind_call_site(arch, find_module, in->ctx, ra[i]);
		if (k->verdict == UNWIND_CALL_SITE_NONE)
			break;
		s->n++;
		s->is_whole = k->verdict == UNWIND_CALL_SITE_ROOT;
	}
	s->n_followed += s->n > 0;
}
