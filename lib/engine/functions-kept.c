/*
 * What is remembered grows fast at first, so the samples are tried again soon at first, then more
 * seldom.  An address of an instruction is only believed to have been the same function's if no
 * function took the place of another one in the process.
 */

#include "engine/functions-kept.h"

#include "agg/counts.h"
#include "agg/labels.h"
#include "base/budget.h"
#include "base/hash.h"
#include "engine/functions.h"

#include <string.h>

#define SAMPLES_MAX 8192u
#define BYTES_MAX (4u << 20)
#define FIRST_NS 50000000u
#define STEP_NS_MAX 8000000000u
#define AGE_NS_MAX 2000000000u          /* of stacks, so that functions are the same ones */

static void drop(struct functions_kept *k, struct functions_kept_sample *s)
{
	k->n_bytes -= s->kept.n_bytes;
	budget_release(k->budget, s->kept.n_bytes);
	interp_kept_done(&s->kept);
}

static void drop_all(struct functions_kept *k)
{
	for (size_t i = 0; i < k->v.n; i++)
		drop(k, &k->v.v[i]);
	k->v.n = 0;
	k->next_ns = 0;
}

void functions_kept_done(struct functions_kept *k)
{
	drop_all(k);
	if (k->has_present)
		interp_kept_done(&k->present.kept);
	k->has_present = false;
	VEC_FREE(&k->v);
}

void functions_kept_count(struct functions_kept *k, uint32_t event, uint32_t stack,
			  uint32_t labels, uint64_t n, uint64_t value)
{
	struct functions_kept_sample *s = &k->present;
	size_t n_bytes = s->kept.n_bytes;
	s->event = event;
	s->stack = stack;
	s->labels = labels;
	s->n = n;
	s->value = value;
	k->has_present = false;
	bool fits = k->v.n < SAMPLES_MAX && k->n_bytes + n_bytes <= BYTES_MAX &&
		    budget_charge(k->budget, n_bytes);
	if (!fits || !VEC_PUSH(&k->v, *s)) {
		if (fits)
			budget_release(k->budget, n_bytes);
		interp_kept_done(&s->kept);
		return;
	}
	k->n_bytes += n_bytes;
	if (k->next_ns)
		return;
	k->step_ns = FIRST_NS;
	k->next_ns = s->time_ns + k->step_ns;
}

static bool move(struct functions *f, struct counts *c, struct functions_kept_sample *s,
		 enum interp_quality q, uint32_t stack, const char *key)
{
	uint32_t labels = functions_label(f->strings, f->labels, s->plain, key,
					  functions_quality_name(q));
	if (!counts_take(c, s->event, s->stack, s->labels, s->n, s->value))
		return false;
	if (!counts_add(c, s->event, stack, labels, s->n, s->value, false)) {
		counts_add(c, s->event, s->stack, s->labels, s->n, s->value, true);
		return false;
	}
	f->stats.n[s->quality]--;
	f->stats.n[q]++;
	s->quality = q;
	s->stack = stack;
	s->labels = labels;
	return true;
}

/* True: there is nothing more to do for it. */
static bool try_again(struct functions *f, struct counts *c, struct functions_kept_sample *s)
{
	const struct functions_seen *seen = &f->seen[hash_u64(s->pid) % FUNCTIONS_SEEN];
	if (seen->pid != s->pid || !seen->has_program)
		return false;
	const struct interp_runtime *r = seen->program.runtime;
	uint32_t stack = s->native;
	/* another program's interpreter may not even count what it replaces */
	if (seen->program.number != s->number)
		return true;
	if (r->n_replaced(r->ctx) != s->n_replaced && !s->kept.head.n)
		return true;
	enum interp_quality q = interp_samples_again(seen->program.samples, r, &s->kept,
						     &f->frames);
	if (q >= s->quality ||
	    interp_place(&f->cache.tables, seen->program.code, f->mode, &f->frames, true,
			 &stack) != INTERP_PLACED)
		return false;
	/* with its callers it is complete */
	return move(f, c, s, q, stack, r->label) && q < INTERP_QUALITY_INNERMOST;
}

void functions_kept_settle(struct functions *f, struct counts *counts, uint32_t n_runs,
			   uint64_t now_ns, bool is_last)
{
	struct functions_kept *k = &f->kept;
	size_t n = 0;
	if (k->n_runs != n_runs)
		drop_all(k);
	k->n_runs = n_runs;
	if (!k->v.n || (!is_last && now_ns < k->next_ns))
		return;
	for (size_t i = 0; i < k->v.n; i++) {
		struct functions_kept_sample *s = &k->v.v[i];
		bool is_old = !s->kept.head.n && now_ns > s->time_ns + AGE_NS_MAX;
		if (try_again(f, counts, s) || is_old || is_last)
			drop(k, s);
		else
			k->v.v[n++] = *s;
	}
	k->v.n = n;
	k->step_ns = 2 * k->step_ns < STEP_NS_MAX ? 2 * k->step_ns : STEP_NS_MAX;
	k->next_ns = now_ns + k->step_ns;
}
