/* The goroutines, threads and labels of a hostile Go program (gohostile.h), in whose memory
 * registers and reported changes lead anywhere. */

#include "labels/goread.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "labels/appvalues.h"
#include "tests/fuzz/gohostile.h"

#include <stdlib.h>

#define BASE GOHOSTILE_BASE

static void change(void *ctx, struct goread *r)
{
	const struct gohostile *m = ctx;
	r->reported_ns = m->n_read & 1;
	r->births_ns = m->n_read >> 1 & 1;
	if (m->n_read % 5 == 0)
		goread_birth(r, &(struct goread_birth){ .g = BASE + 8 * (m->n_read % 64),
			.creator = BASE + 8 * (m->n_read % 48), .time_ns = clock_monotonic_ns() });
	goread_inherit(r, clock_monotonic_ns());
	if (m->n_read % 3 == 0)
		goread_change(r, &(struct goread_changed){ .g = BASE + 8 * (m->n_read % 64),
			.time_ns = clock_monotonic_ns(), .labels = BASE + 8 * (m->n_read % 32),
			.slot = m->n_read & 2 ? BASE + 8 * (m->n_read % 16) : 0 });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gohostile memory;
	const struct go_layout *l = gohostile_open(data, size, &memory);
	const struct runtime_memory m = { gohostile_read, &memory };
	struct budget budget;
	struct strtab strings;
	struct labels labels;
	struct appvalues values;
	static struct gopieces pieces;
	struct goread r;
	if (!l)
		return 0;
	budget_init(&budget, 64u << 20);
	if (strtab_init(&strings, &budget) < 0 || labels_init(&labels, &budget) < 0)
		abort();
	appvalues_init(&values, &strings);
	goread_init(&r, &m, &pieces, l);
	gosets_init(&r.sets, &values, &labels, l->label_format);
	r.changes = change;
	r.ctx = &memory;
	r.allgs = BASE;
	r.code = (struct goread_code){ data[0] * 8, data[0] * 8 + 64, BASE };
	for (uint64_t i = 0; i < 24; i++) {
		struct gotimes_answer a;
		const struct goread_sample s = {
			.time_ns = clock_monotonic_ns(), .sp = BASE + 16 * i,
			.g = i % 4 == 3 ? 0 : BASE + 8 * i, .tid = (uint32_t)data[1 + i % 8],
			.stack = data, .n_stack_bytes = size,
		};
		if (i % 3 == 0)
			goread_all(&r);
		enum gotimes_how how = goread_at(&r, &s, &a);
		bool is_proven = a.who || a.slot || a.is_owned;
		if (how != GOTIMES_NOTHING && (a.set >= labels.n || !is_proven))
			abort();
	}
	goread_trim(&r, 0);
	goread_done(&r);
	appvalues_done(&values);
	labels_done(&labels);
	strtab_done(&strings);
	return 0;
}
