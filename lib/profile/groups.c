#include "profile/groups.h"

#include "base/cleanup.h"
#include "engine/engine-allocs.h"
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The keys whose values define a group, and that of the name. */
struct keys {
	uint32_t cgroup, exe, build_id, process_name;
};

static uint32_t find_key(const struct engine *g, const char *key)
{
	return strtab_find(&g->strings, key, strlen(key));
}

static struct groups_group group_of(const struct engine *g, const struct keys *k, uint32_t set)
{
	struct groups_group one = { 0 };
	uint32_t n;
	const struct label *l = labels_get(&g->labels, set, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (l[i].key == k->cgroup)
			one.cgroup = l[i].value;
		else if (l[i].key == k->exe)
			one.exe = l[i].value;
		else if (l[i].key == k->build_id)
			one.build_id = l[i].value;
		else if (l[i].key == k->process_name)
			one.process_name = l[i].value;
	}
	return one;
}

/* There are a few dozen groups. */
static uint32_t find_group(struct groups *s, const struct groups_group *like)
{
	for (size_t i = 0; i < s->group.n; i++) {
		struct groups_group *have = &s->group.v[i];
		if (have->cgroup != like->cgroup || have->exe != like->exe ||
		    have->build_id != like->build_id)
			continue;
		if (have->process_name != like->process_name)
			have->process_name = 0;
		return (uint32_t)i;
	}
	return VEC_PUSH(&s->group, *like) ? (uint32_t)s->group.n - 1 : GROUPS_NONE;
}

static int compare_value(const void *a, const void *b, void *ctx)
{
	const struct groups *s = ctx;
	uint64_t x = s->group.v[*(const uint32_t *)a].value;
	uint64_t y = s->group.v[*(const uint32_t *)b].value;
	if (x != y)
		return x > y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static int sort_groups(struct groups *s)
{
	size_t n = s->group.n;
	CLEANUP_FREE uint32_t *order = calloc(n + 1, sizeof(*order));
	CLEANUP_FREE uint32_t *place = calloc(n + 1, sizeof(*place));
	struct groups_group *sorted = calloc(n + 1, sizeof(*sorted));
	if (!order || !place || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_value, s);
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = s->group.v[order[i]];
		place[order[i]] = i;
	}
	free(s->group.v);
	s->group.v = sorted;
	s->group.cap = n + 1;
	for (uint32_t i = 0; i < s->n_sets; i++)
		if (s->of_set[i] != GROUPS_NONE)
			s->of_set[i] = place[s->of_set[i]];
	return 0;
}

int groups_make(const struct engine *g, uint32_t event, struct groups *ret)
{
	const struct keys k = {
		.cgroup = find_key(g, samplelabels_key(SAMPLELABEL_CGROUP)),
		.exe = find_key(g, samplelabels_key(SAMPLELABEL_EXE)),
		.build_id = find_key(g, SAMPLELABEL_EXE_BUILD_ID),
		.process_name = find_key(g, samplelabels_key(SAMPLELABEL_PROCESS_NAME)),
	};
	*ret = (struct groups){ .n_sets = g->labels.n };
	ret->of_set = malloc((g->labels.n + 1u) * sizeof(*ret->of_set));
	if (!ret->of_set)
		return -ENOMEM;
	memset(ret->of_set, 0xff, (g->labels.n + 1u) * sizeof(*ret->of_set));
	for (uint32_t i = 0; i < g->counts.n; i++) {
		const struct count *c = &g->counts.v[i];
		if (engine_output_of(g, c->event) != event || !(c->n_samples | c->value))
			continue;
		if (ret->of_set[c->labels] == GROUPS_NONE) {
			struct groups_group one = group_of(g, &k, c->labels);
			ret->of_set[c->labels] = find_group(ret, &one);
		}
		if (ret->of_set[c->labels] == GROUPS_NONE)
			return -ENOMEM;
		struct groups_group *to = &ret->group.v[ret->of_set[c->labels]];
		to->n_samples += c->n_samples;
		to->value += c->value;
	}
	return sort_groups(ret);
}

void groups_done(struct groups *g)
{
	VEC_FREE(&g->group);
	free(g->of_set);
	*g = (struct groups){ 0 };
}
