/*
 * Each thread merges a part of the files that follow one another.  The models of the parts are then
 * merged in their order, so items are in the order in which one thread would have met them.
 */

#include "view/model/model-merge.h"

#include "base/cleanup.h"
#include "view/model/model-build.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct merge {
	const char *const *path;
	const struct model_merge *how;
	pthread_mutex_t skip_lock;
	atomic_bool has_failed;
	uint64_t part_bytes_max;        /* 0: no limit */
};

struct part {
	struct merge *all;
	size_t first, n;                /* of the paths */
	struct model_builder builder;
	struct err e;
	int r;
	pthread_t thread;
	bool has_thread;
};

#define ARRAY_BYTES(a) ((a)->cap * sizeof(*(a)->v))
#define INDEX_BYTES(x) ((x)->n_slots * sizeof(*(x)->slot))

static uint64_t held_bytes(const struct model_builder *b)
{
	return b->budget.used_bytes + ARRAY_BYTES(&b->mappings) + ARRAY_BYTES(&b->functions) +
	       ARRAY_BYTES(&b->lines) + ARRAY_BYTES(&b->locations) + ARRAY_BYTES(&b->stacks) +
	       ARRAY_BYTES(&b->stack_locations) + ARRAY_BYTES(&b->labels) +
	       ARRAY_BYTES(&b->label_sets) + ARRAY_BYTES(&b->samples) + ARRAY_BYTES(&b->values) +
	       ARRAY_BYTES(&b->comments) + INDEX_BYTES(&b->by_mapping) +
	       INDEX_BYTES(&b->by_function) + INDEX_BYTES(&b->by_location) +
	       INDEX_BYTES(&b->by_stack) + INDEX_BYTES(&b->by_labels) + INDEX_BYTES(&b->by_sample);
}

static int check_bytes(struct model_builder *b, uint64_t limit)
{
	if (!limit || held_bytes(b) <= limit)
		return 0;
	int r = err_set(b->e, E2BIG, "the merged profile needs more than %llu MiB of memory",
			(unsigned long long)(b->how->n_bytes_max >> 20));
	err_hint(b->e, "--drop-label takes labels away that make samples differ, such as pid and "
		 "tid; --max-memory raises the limit");
	return r;
}

static bool is_to_blame(int r)
{
	return r != -ENOMEM;
}

static void skip(struct merge *x, size_t index, const struct err *why)
{
	pthread_mutex_lock(&x->skip_lock);
	x->how->skip(x->how->ctx, index, why);
	pthread_mutex_unlock(&x->skip_lock);
}

static int add_one(struct part *p, size_t index)
{
	struct merge *x = p->all;
	struct model_builder *b = &p->builder;
	if (x->how->numbers_runs)
		snprintf(b->run, sizeof(b->run), "%zu", index + 1);
	int r = model_build_file(b, x->path[index]);
	if (r < 0 && x->how->skip && is_to_blame(r)) {
		skip(x, index, &p->e);
		p->e = (struct err){ 0 };
		return 0;
	}
	return r < 0 ? r : check_bytes(b, x->part_bytes_max);
}

static void *run_part(void *ctx)
{
	struct part *p = ctx;
	for (size_t i = 0; p->r >= 0 && i < p->n && !atomic_load(&p->all->has_failed); i++)
		p->r = add_one(p, p->first + i);
	if (p->r < 0)
		atomic_store(&p->all->has_failed, true);
	return NULL;
}

/* The first file that can be read says which sample types the others must have. */
static size_t add_first(struct part *p, size_t n_paths)
{
	size_t i = 0;
	while (p->r >= 0 && i < n_paths && p->builder.m->n_files == 0)
		p->r = add_one(p, i++);
	return i;
}

/* Adds the models of the other parts to the first one's.  All but the first end here. */
static int join_parts(struct merge *x, struct part *part, uint32_t n, struct err *e)
{
	int r = part[0].r;
	if (r < 0)
		*e = part[0].e;
	for (uint32_t i = 1; i < n; i++) {
		struct model *m = NULL;
		int its = model_build_end(&part[i].builder, part[i].r, &m);
		if (r >= 0 && its < 0) {
			r = its;
			*e = part[i].e;
		}
		if (r >= 0 && m->n_files) {
			part[0].builder.e = e;
			part[0].builder.run[0] = 0;
			r = model_build_model(&part[0].builder, TAKE_PTR(m));
			if (r >= 0)
				r = check_bytes(&part[0].builder, x->how->n_bytes_max);
		}
		model_free(m);
	}
	return r;
}

static void run_parts(struct merge *x, struct part *part, size_t n_paths, uint32_t n)
{
	size_t first = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct part *p = &part[i];
		p->all = x;
		p->r = model_build_begin(&p->builder, x->how, &p->e);
		if (i == 0)
			first = add_first(p, n_paths);
		else if (p->r >= 0 && part[0].r >= 0)
			p->r = model_build_like(&p->builder, part[0].builder.m);
		p->first = first + (n_paths - first) * i / n;
		p->n = first + (n_paths - first) * (i + 1) / n - p->first;
		if (i > 0)
			p->has_thread = pthread_create(&p->thread, NULL, run_part, p) == 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (part[i].has_thread)
			pthread_join(part[i].thread, NULL);
		else
			run_part(&part[i]);
	}
}

int model_merge_files(const char *const *path, size_t n_paths, const struct model_merge *how,
		      struct model **ret, struct err *e)
{
	struct merge x = { .path = path, .how = how, .skip_lock = PTHREAD_MUTEX_INITIALIZER };
	uint32_t n = how->n_threads ? how->n_threads : 1;
	if (n > n_paths)
		n = n_paths ? (uint32_t)n_paths : 1;
	x.part_bytes_max = how->n_bytes_max / n;
	struct part *part = calloc(n, sizeof(*part));
	if (!part)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	run_parts(&x, part, n_paths, n);
	int r = join_parts(&x, part, n, e);
	r = model_build_end(&part[0].builder, r, ret);
	free(part);
	return r;
}

int model_add_comment(struct model *m, const char *text, struct err *e)
{
	uint32_t id = strtab_add_cstr(&m->strings, text);
	uint32_t *grown = id ? realloc(m->comment, (m->n_comments + (size_t)1) * sizeof(*grown))
			     : NULL;
	if (!grown)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	m->comment = grown;
	m->comment[m->n_comments++] = id;
	return 0;
}
