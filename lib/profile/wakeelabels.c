#include "profile/wakeelabels.h"

#include "engine/engine.h"
#include "profile/names.h"
#include "profile/waitlabel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wakeelabels_done(struct wakeelabels *l)
{
	free(l->set);
	*l = (struct wakeelabels){ .set = NULL };
}

/* Index of the label in a set of n; n: it is missing. */
static uint32_t find(const struct engine *g, const struct label *label, uint32_t n,
		     const char *key)
{
	uint32_t id = strtab_find(&g->strings, key, strlen(key)), i = 0;
	while (i < n && (!id || label[i].key != id))
		i++;
	return i;
}

/* The set in a file, instead of one with the number of a stack at label at. */
static uint32_t make_set(struct engine *g, const struct names *names, struct label *label,
			 uint32_t n, uint32_t at)
{
	uint32_t waiter = find(g, label, n, "waiter");
	const char *thread = waiter < n ? strtab_get(&g->strings, label[waiter].value) : "";
	uint32_t stack = wakees_stack(&g->wakees, strtab_get(&g->strings, label[at].value));
	const struct waitframes_label *l = stack == STACKS_NONE ? NULL :
		waitlabel_of_stack(g, names, stack, thread);
	label[at] = label[--n];
	if (l && strcmp(l->key, "idle") == 0 && find(g, label, n, l->key) == n)
		label[n++] = (struct label){
			.key = strtab_add_cstr(&g->strings, l->key),
			.value = strtab_add_cstr(&g->strings, l->value),
		};
	return labels_add(&g->labels, label, n, true);
}

int wakeelabels_resolve(struct engine *g, const struct names *names, struct wakeelabels *ret)
{
	uint32_t n_sets = g->labels.n;
	wakeelabels_done(ret);
	if (!g->wakees.stack.n)
		return 0;
	ret->set = calloc(n_sets, sizeof(*ret->set));
	if (!ret->set)
		return -ENOMEM;
	ret->n = n_sets;
	for (uint32_t i = 0; i < n_sets; i++) {
		struct label label[LABELS_PER_SET_MAX];
		uint32_t n;
		const struct label *set = labels_get(&g->labels, i, &n);
		uint32_t at = find(g, set, n, WAKEES_KEY);
		if (n)
			memcpy(label, set, n * sizeof(*set));
		ret->set[i] = at < n ? make_set(g, names, label, n, at) : i;
		if (ret->set[i] == LABELS_NONE)
			return -ENOMEM;
	}
	return 0;
}
