/*
 * Strings that existed when the engine was initialised keep their ids: names of pseudo frames,
 * which frames refer to, and the user's labels.
 */

#include "engine/gc-ids.h"

#include "engine/allocs.h"
#include "engine/gc-tables.h"
#include "engine/threadcache.h"
#include "engine/waits.h"
#include "labels/applabels.h"
#include "labels/golabels.h"
#include "labels/locklabels.h"
#include "labels/samplelabels.h"
#include "proc/procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t keep_string(struct gc_ids *r, uint32_t id)
{
	if (id && !r->string_id[id]) {
		r->string_id[id] = strtab_add_cstr(&r->strings, strtab_get(r->of->strings, id));
		r->is_out |= !r->string_id[id];
	}
	return r->string_id[id];
}

uint32_t gc_ids_keep_set(struct gc_ids *r, uint32_t set)
{
	struct label label[LABELS_PER_SET_MAX];
	uint32_t n;
	if (!set || r->set_id[set])
		return r->set_id[set];
	const struct label *old = labels_get(r->of->labels, set, &n);
	for (uint32_t i = 0; i < n; i++)
		label[i] = (struct label){ .key = keep_string(r, old[i].key),
					   .value = keep_string(r, old[i].value) };
	uint32_t id = labels_add(&r->labels, label, n, true);
	r->is_out |= id == LABELS_NONE;
	return r->set_id[set] = id == LABELS_NONE ? 0 : id;
}

static void each_kept_string(void *ctx, uint32_t *string)
{
	keep_string(ctx, *string);
}

static void each_kept_set(void *ctx, uint32_t *set)
{
	gc_ids_keep_set(ctx, *set);
}

static void keep_place(void *ctx, struct waits_place *at)
{
	gc_ids_keep_set(ctx, at->labels);
	gc_ids_keep_set(ctx, at->locks);
}

int gc_ids_begin(struct gc_ids *r, const struct gc_tables *of)
{
	*r = (struct gc_ids){ .of = of };
	r->string_id = calloc(of->strings->n, sizeof(*r->string_id));
	r->set_id = calloc(of->labels->n, sizeof(*r->set_id));
	if (!r->string_id || !r->set_id || strtab_init(&r->strings, of->budget) < 0 ||
	    labels_init(&r->labels, of->budget) < 0)
		return -ENOMEM;
	for (uint32_t id = 1; id < of->n_fixed_strings; id++)
		r->is_out |= keep_string(r, id) != id;
	applabels_trim(of->app);
	golabels_trim(of->go);
	procs_each_string(of->procs, each_kept_string, r);
	applabels_each_set(of->app, each_kept_set, r);
	golabels_each_set(of->go, each_kept_set, r);
	waits_each_place(of->waits, keep_place, r);
	for (uint32_t i = 0; i < of->allocs->n; i++)
		gc_ids_keep_set(r, of->allocs->v[i].labels);
	return r->is_out ? -ENOMEM : 0;
}

static void renew_string(void *ctx, uint32_t *string)
{
	const struct gc_ids *r = ctx;
	*string = r->string_id[*string];
}

static void renew_set(void *ctx, uint32_t *set)
{
	const struct gc_ids *r = ctx;
	*set = r->set_id[*set];
}

static void renew_place(void *ctx, struct waits_place *at)
{
	renew_set(ctx, &at->labels);
	renew_set(ctx, &at->locks);
}

static bool renew_kept(void *ctx, uint32_t *string)
{
	bool is_empty = *string == 0;
	renew_string(ctx, string);
	return is_empty || *string;
}

void gc_ids_commit(struct gc_ids *r)
{
	const struct gc_tables *of = r->of;
	procs_each_string(of->procs, renew_string, r);
	applabels_each_set(of->app, renew_set, r);
	golabels_each_set(of->go, renew_set, r);
	appvalues_renew(&of->app->values, renew_kept, r);
	locklabels_renew(of->locks, renew_kept, r);
	threadcache_each_waiting_set(of->procs, renew_set, r);
	waits_each_place(of->waits, renew_place, r);
	for (uint32_t i = 0; i < of->allocs->n; i++)
		renew_set(r, &of->allocs->v[i].labels);
	samplelabels_forget_ids(of->own_labels);
	struct strtab strings = *of->strings;
	struct labels labels = *of->labels;
	*of->strings = r->strings;
	*of->labels = r->labels;
	r->strings = strings;
	r->labels = labels;
}

void gc_ids_done(struct gc_ids *r)
{
	if (r->strings.str)
		strtab_done(&r->strings);
	labels_done(&r->labels);
	free(r->string_id);
	free(r->set_id);
}
