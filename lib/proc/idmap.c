/*
 * Ids are handed out nearly in sequence; a multiplicative hash (Fibonacci) spreads them over the
 * table without the cost of a full mixer, since each sample needs a look-up.
 */

#include "proc/idmap.h"

#include <stdlib.h>

#define IDMAP_MIN_SLOTS 64u

static uint32_t home(const struct idmap *m, uint32_t id)
{
	uint32_t h = id * 0x9e3779b1u;
	return (h ^ h >> 15) & (m->n_slots - 1);
}

/* The slot of id, or the free one for it. */
static uint32_t probe(const struct idmap *m, uint32_t id)
{
	uint32_t i = home(m, id);
	while (m->slot[i].value && m->slot[i].id != id)
		i = (i + 1) & (m->n_slots - 1);
	return i;
}

void idmap_done(struct idmap *m)
{
	free(m->slot);
	*m = (struct idmap){ 0 };
}

static bool grow_table(struct idmap *m)
{
	struct idmap bigger = { .n = m->n };
	bigger.n_slots = m->n_slots ? m->n_slots * 2 : IDMAP_MIN_SLOTS;
	bigger.slot = calloc(bigger.n_slots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return false;
	for (uint32_t i = 0; i < m->n_slots; i++) {
		if (m->slot[i].value)
			bigger.slot[probe(&bigger, m->slot[i].id)] = m->slot[i];
	}
	free(m->slot);
	*m = bigger;
	return true;
}

bool idmap_put(struct idmap *m, uint32_t id, void *value)
{
	if (m->n >= m->n_slots / 2 && !grow_table(m))
		return false;
	uint32_t i = probe(m, id);
	m->n += !m->slot[i].value;
	m->slot[i] = (struct idmap_slot){ id, value };
	return true;
}

void *idmap_get(const struct idmap *m, uint32_t id)
{
	return m->n_slots ? m->slot[probe(m, id)].value : NULL;
}

void idmap_remove(struct idmap *m, uint32_t id)
{
	if (!m->n_slots)
		return;
	uint32_t mask = m->n_slots - 1;
	uint32_t hole = probe(m, id);
	if (!m->slot[hole].value)
		return;
	m->n--;
	for (uint32_t i = (hole + 1) & mask; m->slot[i].value; i = (i + 1) & mask) {
		/* An entry may move back to the hole unless its home is after the hole. */
		uint32_t distance = (i - home(m, m->slot[i].id)) & mask;
		if (distance >= ((i - hole) & mask)) {
			m->slot[hole] = m->slot[i];
			hole = i;
		}
	}
	m->slot[hole].value = NULL;
}
