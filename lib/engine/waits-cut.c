#include "engine/waits-cut.h"

#include "base/budget.h"
#include "source/record.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* More kernel frames than any wait has; a longer chain is left out. */
#define CHAIN_MAX 128u

static size_t bytes_of(uint32_t n_words)
{
	return sizeof(struct waits_cut) + n_words * sizeof(uint64_t);
}

/* Words of the callchain before the user's part. */
static uint32_t count_kernel(const struct record_sample *s)
{
	uint64_t n = 0;
	while (n < s->n_callchain && s->callchain[n] != (uint64_t)PERF_CONTEXT_USER)
		n++;
	return n <= CHAIN_MAX ? (uint32_t)n : 0;
}

static bool make_room(struct waits_cut **c, struct budget *budget, uint32_t n_words)
{
	if (*c && (*c)->cap >= n_words)
		return true;
	struct waits_cut *fresh = calloc(1, bytes_of(n_words));
	if (!fresh)
		return false;
	waits_cut_free(*c, budget);
	fresh->cap = n_words;
	budget_charge_always(budget, bytes_of(n_words));
	*c = fresh;
	return true;
}

bool waits_cut_keep(struct waits_cut **c, struct budget *budget, const struct record *r)
{
	const struct record_sample *s = &r->sample;
	uint32_t n_regs = (uint32_t)__builtin_popcountll(s->user_regs_mask);
	uint32_t n_chain = count_kernel(s);
	if (!s->user_regs || s->user_abi != PERF_SAMPLE_REGS_ABI_64 ||
	    !make_room(c, budget, n_regs + n_chain))
		return false;
	struct waits_cut *k = *c;
	k->ip = s->ip;
	k->mask = s->user_regs_mask;
	k->misc = r->misc;
	k->n_regs = n_regs;
	k->n_chain = n_chain;
	memcpy(k->word, s->user_regs, n_regs * sizeof(*k->word));
	if (n_chain)
		memcpy(k->word + n_regs, s->callchain, n_chain * sizeof(*k->word));
	return true;
}

uint64_t waits_cut_sp(const struct waits_cut *c, unsigned sp)
{
	uint64_t bit = UINT64_C(1) << sp;
	return c->mask & bit ? c->word[__builtin_popcountll(c->mask & (bit - 1))] : 0;
}

void waits_cut_use(const struct waits_cut *c, struct record *r)
{
	r->misc = c->misc;
	r->sample.ip = c->ip;
	r->sample.user_abi = PERF_SAMPLE_REGS_ABI_64;
	r->sample.user_regs_mask = c->mask;
	r->sample.user_regs = c->word;
	r->sample.callchain = c->word + c->n_regs;
	r->sample.n_callchain = c->n_chain;
}

void waits_cut_free(struct waits_cut *c, struct budget *budget)
{
	if (c)
		budget_release(budget, bytes_of(c->cap));
	free(c);
}
