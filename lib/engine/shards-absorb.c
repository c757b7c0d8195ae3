/*
 * A shard keeps a journal of how large its tables were after each record that made them grow.  The
 * counts of all shards move in one pass over all journals, merged by the place of records in the
 * stream.  Only what counts refer to moves.  Identity does not depend on ids: frames are compared
 * by file and address, label sets by their strings.
 */

#include "engine/shards.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proc/procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The move of one shard's counts. */
struct shards_move {
	struct shard *shard;
	bool *frame_used, *stack_used;     /* by the shard's ids, like the following */
	uint32_t *dso, *frame, *stack, *set;  /* the total engine's ids */
	size_t next;                       /* step */
	struct shards_step done;           /* how far each table was moved */
};

static void move_done(struct shards_move *m)
{
	free(m->frame_used);
	free(m->stack_used);
	free(m->dso);
	free(m->frame);
	free(m->stack);
	free(m->set);
}

static void mark_used(struct shards_move *m)
{
	const struct engine *g = &m->shard->engine;
	if (m->shard->moves_all) {
		memset(m->stack_used, true, g->stacks.n);
		memset(m->frame_used, true, g->frames.n);
		return;
	}
	for (uint32_t i = 0; i < g->counts.n; i++)
		m->stack_used[g->counts.v[i].stack] |= g->counts.v[i].n_samples != 0;
	for (uint32_t i = g->stacks.n; i-- > 1;) {
		if (!m->stack_used[i])
			continue;
		m->stack_used[g->stacks.v[i].parent] = true;
		m->frame_used[g->stacks.v[i].frame] = true;
	}
}

static uint32_t *none_of(uint32_t n)
{
	uint32_t *v = malloc((n + 1) * sizeof(*v));
	if (v)
		memset(v, 0xff, (n + 1) * sizeof(*v));
	return v;
}

static int move_begin(struct shards_move *m, struct shard *s)
{
	const struct engine *g = &s->engine;
	*m = (struct shards_move){ .shard = s };
	m->frame_used = calloc(g->frames.n + 1, sizeof(*m->frame_used));
	m->stack_used = calloc(g->stacks.n, sizeof(*m->stack_used));
	m->dso = none_of(g->dsos.n);
	m->frame = none_of(g->frames.n);
	m->stack = none_of(g->stacks.n);
	m->set = none_of(g->labels.n);
	if (!m->frame_used || !m->stack_used || !m->dso || !m->frame || !m->stack || !m->set)
		return -ENOMEM;
	m->stack[STACKS_EMPTY] = STACKS_EMPTY;
	m->set[0] = 0;
	m->done.n_stacks = m->done.n_sets = 1;
	mark_used(m);
	return 0;
}

/* The total engine's DSO for one of a shard; NULL: no memory. */
static const struct dso *same_dso(struct engine *to, const struct engine *from, uint32_t id)
{
	if (id == from->walk.kernel_dso)
		return dso_get(&to->dsos, to->walk.kernel_dso);
	if (id == from->walk.pseudo_dso)
		return dso_get(&to->dsos, to->walk.pseudo_dso);
	const struct dso *d = dso_get(&from->dsos, id);
	const struct dso *same = jit_same(&to->jit, &from->jit, d);
	if (!same)
		same = dso_table_find(&to->dsos, &d->key, d->path);
	return same ? same : dso_table_copy(&to->dsos, d);
}

static uint32_t move_dso(struct engine *to, const struct engine *from, uint32_t *known, uint32_t id)
{
	if (known[id] == UINT32_MAX) {
		const struct dso *d = same_dso(to, from, id);
		known[id] = d ? d->id : UINT32_MAX;
	}
	return known[id];
}

static void move_frame(struct engine *to, struct shards_move *m, uint32_t id)
{
	const struct engine *from = &m->shard->engine;
	const struct frame *f = &from->frames.v[id];
	bool is_pseudo = f->dso == from->walk.pseudo_dso;
	uint32_t dso = m->frame_used[id] ? move_dso(to, from, m->dso, f->dso) : UINT32_MAX;
	if (dso == UINT32_MAX)
		return;
	uint64_t vaddr = f->vaddr;
	if (is_pseudo)
		vaddr = strtab_add_cstr(&to->strings, strtab_get(&from->strings, (uint32_t)vaddr));
	else if (dso_get(&from->dsos, f->dso)->key.kind == DSO_RUNTIME &&
		 !vfuncs_copy(&to->vfuncs, &from->vfuncs, &vaddr))
		return;
	m->frame[id] = frames_add(&to->frames, dso, vaddr, is_pseudo);
}

/* Without memory for a stack, its samples get the frame for such. */
static void move_stack(struct engine *to, struct shards_move *m, uint32_t id)
{
	const struct stack_node *node = &m->shard->engine.stacks.v[id];
	uint32_t parent = m->stack[node->parent], frame = m->frame[node->frame];
	if (m->stack_used[id] && parent != STACKS_NONE && frame != FRAMES_NONE)
		m->stack[id] = stacks_add(&to->stacks, parent, frame, false);
}

static int move_set(struct engine *to, struct shards_move *m, uint32_t id)
{
	const struct engine *from = &m->shard->engine;
	struct label label[LABELS_PER_SET_MAX];
	uint32_t n;
	const struct label *old = labels_get(&from->labels, id, &n);
	for (uint32_t i = 0; i < n; i++)
		label[i] = (struct label){
			strtab_add_cstr(&to->strings, strtab_get(&from->strings, old[i].key)),
			strtab_add_cstr(&to->strings, strtab_get(&from->strings, old[i].value)),
		};
	m->set[id] = labels_add(&to->labels, label, n, true);
	return m->set[id] == LABELS_NONE ? -ENOMEM : 0;
}

static int move_count(struct engine *to, struct shards_move *m, struct count *c)
{
	uint32_t stack = m->stack[c->stack], set = m->set[c->labels];
	if (!c->n_samples)
		return 0;
	if (stack == STACKS_NONE) {
		stack = stack_walk_pseudo(&to->walk, to->walk.dropped);
		set = 0;
		to->walk.stats.n_dropped += c->n_samples;
	}
	if (!counts_add(&to->counts, c->event, stack, set, c->n_samples, c->value, true))
		return -ENOMEM;
	c->n_samples = c->value = 0;
	return 0;
}

static int move_to(struct engine *to, struct shards_move *m, const struct shards_step *step)
{
	struct shards_step *done = &m->done;
	int r = 0;
	for (; done->n_frames < step->n_frames; done->n_frames++)
		move_frame(to, m, done->n_frames);
	for (; done->n_stacks < step->n_stacks; done->n_stacks++)
		move_stack(to, m, done->n_stacks);
	for (; done->n_sets < step->n_sets && r == 0; done->n_sets++)
		r = move_set(to, m, done->n_sets);
	for (; done->n_counts < step->n_counts && r == 0; done->n_counts++)
		r = move_count(to, m, &m->shard->engine.counts.v[done->n_counts]);
	return r;
}

static bool comes_before(const struct shards_move *a, const struct shards_move *b)
{
	struct share_place x = a->shard->step.v[a->next].place;
	struct share_place y = b->shard->step.v[b->next].place;
	return x.segment != y.segment ? x.segment < y.segment : x.at < y.at;
}

static struct shards_move *oldest_step(struct shards_move *m, size_t n)
{
	struct shards_move *oldest = NULL;
	for (size_t i = 0; i < n; i++) {
		if (m[i].next == m[i].shard->step.n)
			continue;
		if (!oldest || comes_before(&m[i], oldest))
			oldest = &m[i];
	}
	return oldest;
}

/* What shards had before their journals began comes first. */
static int move_all(struct engine *to, struct shards_move *m, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = move_to(to, &m[i], &m[i].shard->base);
	for (struct shards_move *one; r == 0 && (one = oldest_step(m, n));)
		r = move_to(to, one, &one->shard->step.v[one->next++]);
	for (size_t i = 0; i < n && r == 0; i++)
		r = move_to(to, &m[i], &m[i].shard->last);
	return r;
}

static int move_ends(struct engine *to, struct shards_move *m)
{
	struct stack_user_counts c;
	struct engine *from = &m->shard->engine;
	if (stack_user_take(&from->walk.user, &c) < 0)
		return -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < c.of_dso.n; i++) {
		uint32_t dso = move_dso(to, from, m->dso, c.of_dso.v[i].dso);
		if (dso == UINT32_MAX)
			continue;
		c.of_dso.v[n] = c.of_dso.v[i];
		c.of_dso.v[n++].dso = dso;
	}
	c.of_dso.n = n;
	stack_user_add(&to->walk.user, &c);
	stack_user_counts_done(&c);
	return 0;
}

/* The users of processes are checked once more at the end. */
static void move_owners(struct engine *to, const struct engine *from)
{
	for (size_t i = 0; i < from->procs.n_processes; i++) {
		const struct procs_process *p = from->procs.process[i];
		struct procs_process *own = p->owner != PROCS_OWNER_UNREAD
					    ? procs_find(&to->procs, p->pid) : NULL;
		if (own && own->owner == PROCS_OWNER_UNREAD)
			own->owner = p->owner;
	}
}

/* A new table of counts, without the empty entries. */
static int clear_counts(struct shard *s)
{
	struct counts fresh;
	if (counts_init(&fresh, &s->engine.budget) < 0)
		return -ENOMEM;
	counts_done(&s->engine.counts);
	s->engine.counts = fresh;
	shards_start_journal(s);
	return 0;
}

/* The shards do not grow now: what they leave is the total engine's. */
static void give_memory(const struct shard *s, size_t n, struct engine *total)
{
	size_t limit = total->options.max_memory_bytes, used = total->budget.used_bytes;
	for (size_t i = 0; i < n; i++)
		used += s[i].engine.budget.used_bytes;
	if (limit)
		total->budget.limit_bytes = total->budget.used_bytes +
					    (limit > used ? limit - used : 0);
}

int shards_absorb(struct shard *s, size_t n, struct engine *total, struct err *e)
{
	CLEANUP_FREE struct shards_move *m = calloc(n ? n : 1, sizeof(*m));
	int r = m ? 0 : -ENOMEM;
	size_t n_begun = 0;
	shards_add_up(s, n, total);
	give_memory(s, n, total);
	for (; n_begun < n && r == 0; n_begun++)
		r = move_begin(&m[n_begun], &s[n_begun]);
	if (r == 0)
		r = move_all(total, m, n);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = move_ends(total, &m[i]);
		move_owners(total, &s[i].engine);
	}
	for (size_t i = 0; i < n_begun; i++)
		move_done(&m[i]);
	for (size_t i = 0; i < n && r == 0; i++)
		r = clear_counts(&s[i]);
	return r < 0 ? err_errno(e, ENOMEM, "cannot merge the readers' profiles") : 0;
}
