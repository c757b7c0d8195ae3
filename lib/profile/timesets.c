#include "profile/timesets.h"

#include "base/cleanup.h"
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void timesets_done(struct timesets *t)
{
	free(t->shown);
	*t = (struct timesets){ .shown = NULL };
}

uint64_t timesets_ns(const struct timesets *t, const struct engine *g, uint32_t value)
{
	uint64_t bucket = strtoull(strtab_get(&g->strings, value), NULL, 10);
	return timelabel_offset_ns(&g->options.timeline, bucket, t->width_ns, t->start_ns);
}

/* A second table of sets, in which the value of a time is its bucket in the file. */
static int add_sets(struct timesets *t, const struct engine *g, struct labels *wide)
{
	CLEANUP_FREE uint32_t *first = calloc(g->labels.n, sizeof(*first));
	if (!first)
		return -ENOMEM;
	for (uint32_t set = 0; set < g->labels.n; set++) {
		struct label label[LABELS_PER_SET_MAX];
		uint32_t n;
		const struct label *narrow = labels_get(&g->labels, set, &n);
		for (uint32_t i = 0; i < n; i++) {
			label[i] = narrow[i];
			if (label[i].key == t->key)
				label[i].value = (uint32_t)(timesets_ns(t, g, label[i].value) /
							    t->width_ns);
		}
		uint32_t id = labels_add(wide, label, n, true);
		if (id == LABELS_NONE || id >= g->labels.n)
			return -ENOMEM;
		/* Set 0 is the empty one in both. */
		if (id && !first[id])
			first[id] = set;
		t->shown[set] = first[id];
	}
	return 0;
}

int timesets_make(const struct engine *g, uint64_t start_ns, uint64_t end_ns, struct timesets *ret)
{
	struct labels wide;
	struct timesets t = {
		.n = g->labels.n, .start_ns = start_ns,
		.key = g->options.timeline.bucket_ns ? strtab_find(&g->strings, TIMELABEL_KEY,
							   strlen(TIMELABEL_KEY)) : 0,
	};
	*ret = (struct timesets){ .shown = NULL };
	if (!t.key)
		return 0;
	t.width_ns = timelabel_width_ns(&g->options.timeline, end_ns);
	t.shown = calloc(g->labels.n, sizeof(*t.shown));
	int r = t.shown ? labels_init(&wide, NULL) : -ENOMEM;
	if (r == 0) {
		r = add_sets(&t, g, &wide);
		labels_done(&wide);
	}
	if (r < 0)
		timesets_done(&t);
	else
		*ret = t;
	return r;
}
