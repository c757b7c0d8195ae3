/*
 * The counters are among those that jstat reads (perfMemory.hpp of OpenJDK): a header, and entries
 * one after the other, each with a name and a value.  There are two, because classes of a shared
 * archive are counted separately.  The JVM counts while it unloads, before it frees memory.
 */

#include "symbolize/runtime/hotspot-unloads.h"

#include "base/cleanup.h"
#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 64u                   /* a JVM that starts has no counters yet */
#define COUNTERS_BYTES_MAX (1u << 20)
#define MAGIC 0xc0c0fecau               /* as bytes: ca fe c0 c0 */
#define MAJOR_VERSION 2u

struct header {
	uint32_t magic;
	uint8_t is_little, major, minor, is_accessible;
	uint32_t n_used_bytes, n_overflow_bytes;
	uint64_t changed;
	uint32_t entry_off, n_entries;
};

struct entry {
	uint32_t n_bytes, name_off, n_vector;
	uint8_t type, flags, units, variability;
	uint32_t data_off;
};

static const char *const names[2] = { "java.cls.unloadedClasses",
				      "java.cls.sharedUnloadedClasses" };

/* Has the entry, whose bytes are those at p, that name, and a value? */
static bool is_counter(const uint8_t *p, const struct entry *e, const char *name)
{
	size_t n = strlen(name) + 1;
	return e->type == 'J' && !e->n_vector && e->name_off < e->n_bytes &&
	       n <= e->n_bytes - e->name_off && memcmp(p + e->name_off, name, n) == 0 &&
	       e->data_off <= e->n_bytes && e->n_bytes - e->data_off >= 8;
}

/* b: all counters, with their header, which are at start. */
static void find_in(struct hotspot_unloads *u, const uint8_t *b, uint32_t n_bytes,
		    const struct header *h, uint64_t start)
{
	uint32_t at = h->entry_off;
	struct entry e;
	for (uint32_t i = 0; i < h->n_entries && at < n_bytes; i++, at += e.n_bytes) {
		if (n_bytes - at < sizeof(e))
			return;
		memcpy(&e, b + at, sizeof(e));
		if (e.n_bytes < sizeof(e) || e.n_bytes > n_bytes - at)
			return;
		for (unsigned int k = 0; k < 2; k++)
			if (is_counter(b + at, &e, names[k]))
				u->at[k] = start + at + e.data_off;
	}
}

static void find(struct hotspot_unloads *u, const struct hotspot_layout *l,
		 const struct runtime_memory *m)
{
	CLEANUP_FREE uint8_t *b = NULL;
	uint64_t start;
	struct header h;
	if (!l->counters || !runtime_memory_read(m, l->counters, &start, sizeof(start)) ||
	    !start || !runtime_memory_read(m, start, &h, sizeof(h)) || h.magic != MAGIC ||
	    !h.is_little || h.major != MAJOR_VERSION || h.n_used_bytes > COUNTERS_BYTES_MAX ||
	    !(b = malloc(h.n_used_bytes + 1)) ||
	    !runtime_memory_read(m, start, b, h.n_used_bytes))
		return;
	find_in(u, b, h.n_used_bytes, &h, start);
}

bool hotspot_unloads_read(struct hotspot_unloads *u, const struct hotspot_layout *l,
			  const struct runtime_memory *memory, uint64_t *ret)
{
	uint64_t n[2] = { 0, 0 };
	if (!u->at[0] && u->n_tries < TRIES_MAX) {
		u->n_tries++;
		find(u, l, memory);
	}
	if (!u->at[0])
		return false;
	for (unsigned int k = 0; k < 2; k++)
		if (u->at[k] && !runtime_memory_read(memory, u->at[k], &n[k], sizeof(n[k])))
			return false;
	*ret = n[0] + n[1];
	return true;
}
