/* Gaps are in a list sorted by time: one binary search per sample.  Old gaps are removed from
 * its front. */

#include "engine/pausegaps.h"

#include "base/search.h"

#include <string.h>

void pausegaps_done(struct pausegaps *g)
{
	VEC_FREE(&g->list);
}

bool pausegaps_begin(struct pausegaps *g, uint64_t now_ns)
{
	/* Reserve room now, so that the end cannot fail. */
	if (!VEC_RESERVE(&g->list, 1))
		return false;
	g->open_ns = now_ns;
	return true;
}

void pausegaps_end(struct pausegaps *g, uint64_t now_ns)
{
	if (!g->open_ns)
		return;
	g->list.v[g->list.n++] = (struct pausegaps_one){ g->open_ns, now_ns };
	g->ended_ns += now_ns - g->open_ns;
	g->open_ns = 0;
}

void pausegaps_skip(struct pausegaps *g, uint64_t from_ns, uint64_t to_ns)
{
	VEC_PUSH(&g->list, ((struct pausegaps_one){ from_ns, to_ns }));
}

bool pausegaps_contain(const struct pausegaps *g, uint64_t time_ns)
{
	if (g->open_ns && time_ns >= g->open_ns)
		return true;
	/* Find the last gap that begins at time_ns or before. */
	size_t n = SEARCH_COUNT(g->list.n, i, g->list.v[i].from_ns <= time_ns);
	return n && time_ns <= g->list.v[n - 1].to_ns;
}

uint64_t pausegaps_total_ns(const struct pausegaps *g, uint64_t now_ns)
{
	return g->ended_ns + (g->open_ns && now_ns > g->open_ns ? now_ns - g->open_ns : 0);
}

void pausegaps_forget(struct pausegaps *g, uint64_t time_ns)
{
	size_t n = 0;
	while (n < g->list.n && g->list.v[n].to_ns < time_ns)
		n++;
	if (n == 0)
		return;
	g->list.n -= n;
	memmove(g->list.v, g->list.v + n, g->list.n * sizeof(*g->list.v));
}
