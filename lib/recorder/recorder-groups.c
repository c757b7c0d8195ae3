/* A profile of all processes in parts. */

#include "cprof-groups.h"

#include "base/err.h"
#include "profile/export.h"
#include "profile/groups.h"
#include "recorder/recorder-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cprof_groups {
	struct cprof_recorder *recorder;
	size_t event;
	struct groups groups;
	uint32_t *order;               /* export_order() */
};

int cprof_groups_new(struct cprof_recorder *rec, size_t event, struct cprof_groups **ret,
		     struct err *e)
{
	int r = recorder_check_written(rec, event, e);
	if (r < 0)
		return r;
	struct cprof_groups *g = calloc(1, sizeof(*g));
	if (!g)
		return err_errno(e, ENOMEM, "cannot divide the profile");
	*g = (struct cprof_groups){ .recorder = rec, .event = event };
	g->order = export_order(&rec->engine);
	r = g->order ? groups_make(&rec->engine, (uint32_t)event, &g->groups) : -ENOMEM;
	if (r < 0) {
		cprof_groups_free(g);
		return err_errno(e, -r, "cannot divide the profile");
	}
	*ret = g;
	return 0;
}

void cprof_groups_free(struct cprof_groups *g)
{
	if (g) {
		groups_done(&g->groups);
		free(g->order);
	}
	free(g);
}

size_t cprof_groups_n(const struct cprof_groups *g)
{
	return g->groups.group.n;
}

void cprof_groups_get(const struct cprof_groups *g, size_t i, struct cprof_group *ret)
{
	const struct strtab *strings = &g->recorder->engine.strings;
	const struct groups_group *one = &g->groups.group.v[i];
	*ret = (struct cprof_group){
		.cgroup = strtab_get(strings, one->cgroup), .exe = strtab_get(strings, one->exe),
		.exe_build_id = strtab_get(strings, one->build_id),
		.process_name = strtab_get(strings, one->process_name),
		.n_samples = one->n_samples, .value = one->value,
	};
}

int cprof_groups_write(const struct cprof_groups *g, const bool *chosen, const char *const *label,
		       size_t n_labels, const char *comment, struct cprof_groups_detail *detail,
		       int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		       struct err *e)
{
	static const char *const defining[] = { "cgroup", "exe", "exe_build_id" };
	const struct groups *s = &g->groups;
	uint8_t *has_set = calloc(s->n_sets + 1u, 1);
	for (size_t i = 0; i < n_labels; i++) {
		if (n_labels > CPROF_GROUPS_LABELS_MAX || !strchr(label[i], '=')) {
			free(has_set);
			return err_set(e, EINVAL, "labels of a part are wrong or too many");
		}
	}
	if (!has_set)
		return err_errno(e, ENOMEM, "cannot write the profile");
	for (uint32_t i = 0; i < s->n_sets; i++)
		has_set[i] = s->of_set[i] != GROUPS_NONE && chosen[s->of_set[i]];
	struct cprof_groups_detail all = { 0 };
	detail = detail ? detail : &all;
	int r = recorder_write_part(g->recorder, g->event, &(struct export_part){
		.has_set = has_set, .order = g->order, .drop = defining, .n_drop = 3,
		.label = label, .n_labels = n_labels, .only_functions = detail->only_functions,
		.keep = detail->keep, .seed = detail->seed, .n_folded = &detail->n_folded,
	}, comment, write, ctx, e);
	free(has_set);
	return r;
}
