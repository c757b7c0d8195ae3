/* Powers of two, so that there are few labels. */

#include "engine/allocage.h"

#include "engine/engine.h"
#include "labels/samplelabels.h"

#include <stdio.h>

#define NS_PER_S UINT64_C(1000000000)

static uint32_t with_age(void *ctx, uint32_t labels, uint64_t age_ns)
{
	struct engine *g = ctx;
	char text[24];
	uint64_t s = age_ns / NS_PER_S;
	s = s ? UINT64_C(1) << (63 - __builtin_clzll(s)) : 0;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)s);
	return samplelabels_with(&g->own_labels, labels, "age", text);
}

void allocage_add(struct engine *g, uint64_t now_ns)
{
	allocs_add_ages(&g->allocs, now_ns, with_age, g);
}
