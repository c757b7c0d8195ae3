/* A node's key is its parent, its thread (for roots) and its frame. */

#include "view/convert/forest.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	const struct model *m;
	const struct rows *rows;
	enum forest_by by;
	bool one_thread;
	VEC(struct forest_node) nodes;
	VEC(struct forest_thread) threads;
	VEC(uint32_t) frames;  /* of one sample, leaf first */
	int64_t *set_total;    /* by label set */
	struct hashindex by_node, by_thread;
};

/* One of the names that a thread or process has had. */
struct named {
	uint32_t owner;        /* a thread; of a process, its first one */
	bool is_process;
	uint32_t name;
	int64_t total;
};

void forest_free(struct forest *f)
{
	if (!f)
		return;
	free(f->thread);
	free(f->node);
	free(f->leaf);
	free(f->thread_of);
	free(f);
}

static int64_t label_number(const struct model *m, const struct model_label *l)
{
	return l->str ? strtoll(model_string(m, l->str), NULL, 10) : l->num;
}

static struct forest_thread thread_of_labels(const struct model *m, const struct model_labels *set)
{
	struct forest_thread t = { 0 };
	uint32_t other = 0;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct model_label *l = &m->label[set->first + i];
		const char *key = model_string(m, l->key);
		if (strcmp(key, "pid") == 0)
			t.pid = label_number(m, l);
		else if (strcmp(key, "tid") == 0)
			t.tid = label_number(m, l);
		else if (strcmp(key, "thread_name") == 0)
			t.name = l->str;
		else if (strcmp(key, "thread") == 0)
			other = l->str;
		else if (strcmp(key, "process_name") == 0)
			t.process = l->str;
	}
	t.name = t.name ? t.name : other;
	return t;
}

/* A thread may change its name; the id identifies it. */
static bool same_thread(const struct forest_thread *x, const struct forest_thread *y)
{
	return x->pid == y->pid && x->tid == y->tid && (x->tid || x->name == y->name);
}

/* Finds or adds a thread; MODEL_NONE if out of memory. */
static uint32_t find_thread(struct builder *g, const struct model_labels *set)
{
	struct forest_thread want = { 0 };
	if (!g->one_thread)
		want = thread_of_labels(g->m, set);
	uint64_t hash = want.tid ? hash_pair((uint64_t)want.pid, (uint64_t)want.tid)
				 : hash_pair((uint64_t)want.pid, hash_u64(want.name));
	uint32_t i = HASHINDEX_FIND(&g->by_thread, hash, k, same_thread(&g->threads.v[k], &want));
	if (i != HASHINDEX_NONE)
		return i;
	i = (uint32_t)g->threads.n;
	if (!VEC_PUSH(&g->threads, want) || !hashindex_add(&g->by_thread, hash, i))
		return MODEL_NONE;
	return i;
}

static bool collect_frames(struct builder *g, uint32_t sample)
{
	const struct model_stack *s = &g->m->stack[g->m->sample[sample].stack];
	g->frames.n = 0;
	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t l = g->m->stack_location[s->first + k];
		for (size_t i = g->rows->first[l]; i < g->rows->first[l + 1]; i++)
			if (!VEC_PUSH(&g->frames, g->by == FOREST_ROWS ? g->rows->of[i]
								       : (uint32_t)i))
				return false;
	}
	return true;
}

static uint32_t find_node(struct builder *g, uint32_t parent, uint32_t thread, uint32_t frame)
{
	uint64_t hash = hash_pair((uint64_t)parent << 32 | frame, thread);
	uint32_t i = HASHINDEX_FIND(&g->by_node, hash, k, g->nodes.v[k].parent == parent &&
				    g->nodes.v[k].thread == thread && g->nodes.v[k].frame == frame);
	if (i != HASHINDEX_NONE)
		return i;
	i = (uint32_t)g->nodes.n;
	struct forest_node node = { .parent = parent, .thread = thread, .frame = frame };
	if (i >= MODEL_NONE - 1 || !VEC_PUSH(&g->nodes, node) ||
	    !hashindex_add(&g->by_node, hash, i))
		return MODEL_NONE;
	return i;
}

static int add_sample(struct builder *g, struct forest *f, uint32_t sample, int64_t value)
{
	uint32_t set = g->m->sample[sample].labels;
	if (f->thread_of[set] == MODEL_NONE)
		f->thread_of[set] = find_thread(g, &g->m->labels[set]);
	uint32_t thread = f->thread_of[set], node = MODEL_NONE;
	if (thread == MODEL_NONE || !collect_frames(g, sample))
		return -ENOMEM;
	g->threads.v[thread].total = model_add(g->threads.v[thread].total, value);
	g->set_total[set] = model_add(g->set_total[set], value);
	for (size_t i = g->frames.n; i-- > 0;) {
		node = find_node(g, node, thread, g->frames.v[i]);
		if (node == MODEL_NONE)
			return -ENOMEM;
		g->nodes.v[node].total = model_add(g->nodes.v[node].total, value);
	}
	if (node != MODEL_NONE)
		g->nodes.v[node].self = model_add(g->nodes.v[node].self, value);
	f->leaf[sample] = node;
	return 0;
}

/* Readers identify threads by id, so threads without one get an unused id. */
static void number_threads(struct forest *f)
{
	int64_t largest = 0;
	for (uint32_t i = 0; i < f->n_threads; i++)
		if (f->thread[i].tid > largest)
			largest = f->thread[i].tid;
	for (uint32_t i = 0; i < f->n_threads; i++) {
		struct forest_thread *t = &f->thread[i];
		if (t->tid == 0)
			t->tid = largest = model_add(largest, 1);
		if (t->pid == 0)
			t->pid = 1;
	}
}

static int add_samples(struct builder *g, struct forest *f, uint32_t type, unsigned flags)
{
	const struct model *m = g->m;
	f->leaf = malloc(((size_t)m->n_samples + 1) * sizeof(*f->leaf));
	f->thread_of = malloc(((size_t)m->n_label_sets + 1) * sizeof(*f->thread_of));
	g->set_total = calloc((size_t)m->n_label_sets + 1, sizeof(*g->set_total));
	if (!f->leaf || !f->thread_of || !g->set_total)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_label_sets; i++)
		f->thread_of[i] = MODEL_NONE;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t value = model_value(m, i, type);
		f->leaf[i] = MODEL_NONE;
		if (value < 0 && !(flags & FOREST_NEGATIVE)) {
			f->n_left_out++;
			continue;
		}
		int r = value ? add_sample(g, f, i, value) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- names ------------------------------------------------------------------ */

struct names {
	VEC(struct named) names;
	struct hashindex by_name, by_pid;
};

static bool add_name(struct names *n, uint32_t owner, bool is_process, uint32_t name, int64_t total)
{
	if (!name)
		return true;
	uint64_t hash = hash_pair((uint64_t)owner << 1 | is_process, hash_u64(name));
	uint32_t i = HASHINDEX_FIND(&n->by_name, hash, k, n->names.v[k].owner == owner &&
				    n->names.v[k].is_process == is_process &&
				    n->names.v[k].name == name);
	if (i == HASHINDEX_NONE) {
		struct named named = { .owner = owner, .is_process = is_process, .name = name };
		i = (uint32_t)n->names.n;
		if (!VEC_PUSH(&n->names, named) || !hashindex_add(&n->by_name, hash, i))
			return false;
	}
	n->names.v[i].total = model_add(n->names.v[i].total, total);
	return true;
}

/* The first thread of the same process; MODEL_NONE if out of memory. */
static uint32_t first_thread(struct builder *g, struct names *n, uint32_t thread)
{
	int64_t pid = g->threads.v[thread].pid;
	if (!pid)
		return thread;
	uint64_t hash = hash_u64((uint64_t)pid);
	uint32_t i = HASHINDEX_FIND(&n->by_pid, hash, k, g->threads.v[k].pid == pid);
	if (i != HASHINDEX_NONE)
		return i;
	return hashindex_add(&n->by_pid, hash, thread) ? thread : MODEL_NONE;
}

static bool add_names(struct builder *g, const struct forest *f, struct names *n)
{
	for (uint32_t set = 0; set < g->m->n_label_sets; set++) {
		uint32_t thread = f->thread_of[set];
		if (thread == MODEL_NONE)
			continue;
		struct forest_thread t = thread_of_labels(g->m, &g->m->labels[set]);
		uint32_t first = first_thread(g, n, thread);
		if (first == MODEL_NONE ||
		    !add_name(n, thread, false, t.name, g->set_total[set]) ||
		    !add_name(n, first, true, t.process, g->set_total[set]))
			return false;
	}
	return true;
}

/* Processes and threads change their names, at the latest when a child of fork executes its
 * program; the one with the largest values is shown. */
static int choose_names(struct builder *g, const struct forest *f)
{
	struct names n = { 0 };
	CLEANUP_FREE int64_t *best = calloc(2 * g->threads.n + 1, sizeof(*best));
	bool ok = best && add_names(g, f, &n);
	for (size_t i = 0; ok && i < n.names.n; i++) {
		const struct named *x = &n.names.v[i];
		struct forest_thread *t = &g->threads.v[x->owner];
		int64_t *most = &best[2 * x->owner + x->is_process];
		if (x->total <= *most)
			continue;
		*most = x->total;
		*(x->is_process ? &t->process : &t->name) = x->name;
	}
	for (uint32_t i = 0; ok && i < g->threads.n; i++)
		g->threads.v[i].process = g->threads.v[first_thread(g, &n, i)].process;
	VEC_FREE(&n.names);
	hashindex_done(&n.by_name);
	hashindex_done(&n.by_pid);
	return ok ? 0 : -ENOMEM;
}

int forest_new(const struct model *m, const struct rows *rows, uint32_t type, enum forest_by by,
	       unsigned flags, struct forest **ret, struct err *e)
{
	struct builder g = { .m = m, .rows = rows, .by = by,
			     .one_thread = flags & FOREST_ONE_THREAD };
	CLEANUP(forest_freep) struct forest *f = calloc(1, sizeof(*f));
	if (!f)
		return err_errno(e, ENOMEM, "cannot hold the call trees");
	int r = add_samples(&g, f, type, flags);
	if (r == 0 && !g.one_thread)
		r = choose_names(&g, f);
	f->node = g.nodes.v;
	f->n_nodes = (uint32_t)g.nodes.n;
	f->thread = g.threads.v;
	f->n_threads = (uint32_t)g.threads.n;
	VEC_FREE(&g.frames);
	free(g.set_total);
	hashindex_done(&g.by_node);
	hashindex_done(&g.by_thread);
	if (r < 0)
		return err_errno(e, -r, "cannot hold the call trees");
	number_threads(f);
	*ret = TAKE_PTR(f);
	return 0;
}
