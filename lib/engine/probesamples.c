/* Values of labels are limited like those that programs set: a counter or an address as a label
 * would otherwise need a string for each sample. */
#include "engine/probesamples.h"

#include "engine/engine.h"
#include "labels/probeargs.h"
#include "source/record.h"

void probesamples_add(struct engine *g, const struct record *r, const struct evusdt_args *args,
		      uint64_t n_hits)
{
	struct probeargs a;
	struct engine_label label[EVUSDT_LABELS_MAX];
	probeargs_read(args, &r->sample, &a);
	for (unsigned i = 0; i < a.n_labels; i++) {
		struct label limited;
		bool has_room = appvalues_label(&g->app.values, a.key[i], a.text[i], &limited);
		/* The key is not that of another label, such as pid. */
		label[i].key = strtab_get(&g->strings, limited.key);
		label[i].value = has_room ? a.text[i] : APPVALUES_OTHER;
	}
	const struct engine_values v = {
		.n = 1, .value = a.value * n_hits, .label = label, .n_labels = a.n_labels,
	};
	uint64_t n_before = g->event[r->event].n_samples;
	engine_add_sample(g, r, &v);
	if (a.is_unknown && g->event[r->event].n_samples != n_before)
		g->n_args_unknown++;
}
