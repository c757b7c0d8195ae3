#include "engine/unwound.h"

#include "engine/engine.h"

struct unwound unwound_by(const struct engine *g)
{
	const struct stack_user *u = &g->walk.user;
	struct unwound all = g->in_shards;
	const struct unwind_stats *st = u->unwind ? unwind_stats(u->unwind) : NULL;
	all.n_stacks += st ? st->n_stacks : 0;
	all.n_beyond += st ? st->n_end[UNWIND_BEYOND] : 0;
	all.n_switched += u->outer.n_switched;
	return all;
}
