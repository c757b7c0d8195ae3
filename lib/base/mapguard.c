/*
 * Several threads may use a table, and a handler may interrupt them: an entry is taken by
 * exchanging its state, and its bounds are written before it is in use.
 */

#include "base/mapguard.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum state { FREE, TAKEN, WATCHED };

struct mapguard *mapguard_add(struct mapguard_table *t, void *base, size_t n_bytes)
{
	for (size_t i = 0; t && i < MAPGUARD_MAPS_MAX; i++) {
		struct mapguard *g = &t->map[i];
		int expected = FREE;
		if (!atomic_compare_exchange_strong(&g->state, &expected, TAKEN))
			continue;
		g->start = (uintptr_t)base;
		g->end = g->start + n_bytes;
		atomic_store(&g->is_hit, false);
		atomic_store(&g->state, WATCHED);
		return g;
	}
	return NULL;
}

void mapguard_remove(struct mapguard *g)
{
	if (g)
		atomic_store(&g->state, FREE);
}

bool mapguard_is_hit(const struct mapguard *g)
{
	return g && atomic_load(&g->is_hit);
}

bool mapguard_repair(struct mapguard_table *t, void *address)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t at = (uintptr_t)address & ~(page - 1);
	int saved = errno;
	bool done = false;
	for (size_t i = 0; i < MAPGUARD_MAPS_MAX && !done; i++) {
		struct mapguard *g = &t->map[i];
		if (atomic_load(&g->state) != WATCHED || (uintptr_t)address < g->start ||
		    (uintptr_t)address >= g->end)
			continue;
		atomic_store(&g->is_hit, true);
		done = mmap((void *)at, g->end - at, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			    0) != MAP_FAILED;
	}
	errno = saved;
	return done;
}
