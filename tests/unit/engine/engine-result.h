#ifndef CPROF_TESTS_UNIT_ENGINE_ENGINE_RESULT_H
#define CPROF_TESTS_UNIT_ENGINE_ENGINE_RESULT_H

/* What an engine has counted, as text and sums. */

#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static inline void feed_frame_text(const struct engine *g, uint32_t frame, char *buf, size_t n)
{
	const struct frame *f = &g->frames.v[frame];
	const struct dso *d = dso_get(&g->dsos, f->dso);
	const char *slash = strrchr(d->path, '/');
	if (d->key.kind == DSO_PSEUDO)
		snprintf(buf, n, "%s", strtab_get(&g->strings, (uint32_t)f->vaddr));
	else if (d->key.kind == DSO_KERNEL)
		snprintf(buf, n, "k:%" PRIx64, f->vaddr);
	else
		snprintf(buf, n, "%s+0x%" PRIx64, slash ? slash + 1 : d->path, f->vaddr);
}

/* Root first, ";" between frames; valid until the next call. */
static inline const char *feed_stack_text(const struct engine *g, uint32_t stack)
{
	static char text[65536];
	char *at = text + sizeof(text) - 1;
	*at = '\0';
	for (uint32_t node = stack; node != STACKS_EMPTY; node = g->stacks.v[node].parent) {
		char frame[256];
		feed_frame_text(g, g->stacks.v[node].frame, frame, sizeof(frame));
		size_t len = strlen(frame);
		if (at - text < (ptrdiff_t)len + 2)
			break;
		if (*at)
			*--at = ';';
		at -= len;
		memcpy(at, frame, len);
	}
	return at;
}

/* "key=value" pairs, in the order of the keys' ids; valid until the next call. */
static inline const char *feed_labels_text(const struct engine *g, uint32_t set)
{
	static char text[4096];
	uint32_t n;
	size_t len = 0;
	const struct label *l = labels_get(&g->labels, set, &n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%s", i ? " " : "",
					strtab_get(&g->strings, l[i].key),
					strtab_get(&g->strings, l[i].value));
	return text;
}

/* The count of the event with that stack (any labels), or NULL. */
static inline const struct count *feed_find(const struct engine *g, uint32_t event,
					    const char *stack)
{
	for (uint32_t i = 0; i < g->counts.n; i++)
		if (g->counts.v[i].event == event &&
		    strcmp(feed_stack_text(g, g->counts.v[i].stack), stack) == 0)
			return &g->counts.v[i];
	return NULL;
}

/* The sum of an event's profile. */
static inline void feed_sums(const struct engine *g, uint32_t event, uint64_t *ret_n,
			     uint64_t *ret_value)
{
	*ret_n = *ret_value = 0;
	for (uint32_t i = 0; i < g->counts.n; i++) {
		if (g->counts.v[i].event != event)
			continue;
		*ret_n += g->counts.v[i].n_samples;
		*ret_value += g->counts.v[i].value;
	}
}

#endif
