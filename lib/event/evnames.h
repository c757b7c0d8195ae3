#ifndef CPROF_EVENT_EVNAMES_H
#define CPROF_EVENT_EVNAMES_H

/*
 * The table of event names: kernel names in perf's spelling, their aliases, type and config
 * (<linux/perf_event.h>).  Names ignore case.
 */

#include <stddef.h>
#include <stdint.h>

#include "event/evspec.h"

struct evnames_entry {
	struct evspec_known known;
	uint32_t type;    /* PERF_TYPE_SOFTWARE, _HARDWARE, _HW_CACHE */
	uint64_t config;
	enum evspec_waiting waiting;
};

/* Entry i of the table in the order of `cprof list`, or NULL past the end. */
const struct evnames_entry *evnames_at(size_t i);

/* The entry for the n bytes at name: a canonical name, an alias, or one of the many spellings of
 * the cache grid ("l1d-read-miss"); NULL if there is none. */
const struct evnames_entry *evnames_find(const char *name, size_t n);

/* The entry with this type and config, or NULL. */
const struct evnames_entry *evnames_by_config(uint32_t type, uint64_t config);

/* How many edits apart the first 32 bytes of two names are, ignoring case.  A word that contains
 * the name counts as one edit. */
unsigned evnames_distance(const char *name, size_t n, const char *word, size_t n_word);

/* The three names, best first and each of a different event, that are the fewest edits away from
 * the n bytes at name; a name that contains them counts as one edit. */
#define EVNAMES_NEAREST 3
struct evnames_near {
	char name[EVNAMES_NEAREST][32];
};
void evnames_nearest(const char *name, size_t n, struct evnames_near *ret_near);

#endif
