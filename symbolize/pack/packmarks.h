#ifndef CPROF_SYMBOLIZE_PACK_PACKMARKS_H
#define CPROF_SYMBOLIZE_PACK_PACKMARKS_H

/*
 * Where unpacking a section can begin other than at its start, kept in a file for the next time.
 * For a section that is too large to be kept itself (packcache.h).
 */

#include "symbolize/pack/packcache.h"

#define PACKMARKS_WINDOW_BYTES 32768u /* as DEFLATE_WINDOW_BYTES */
#define PACKMARKS_N_MAX 1024u         /* for one section */

struct packmarks_place {
	uint64_t off;            /* in the section */
	struct packcache_place in; /* of the block that comes there */
};

struct packmarks;

/* What is there for that key, which may be nothing.  Nothing else is needed of dir, which must
 * outlive it.  0 or -ENOMEM. */
int packmarks_open(const char *dir, const struct packcache_key *key, struct packmarks **ret);
void packmarks_close(struct packmarks *m);

/* The marks, by off; each is at least a window behind the section's beginning. */
size_t packmarks_n(const struct packmarks *m);
struct packmarks_place packmarks_get(const struct packmarks *m, size_t i);

/* How many are at or before off. */
size_t packmarks_before(const struct packmarks *m, uint64_t off);

/* Reads what stands before mark i; false when that is damaged: there is one mark less then. */
bool packmarks_window(struct packmarks *m, size_t i, uint8_t *to);

/* Adds one behind all others; false: nothing more can be kept, or somebody else is about it. */
bool packmarks_add(struct packmarks *m, const struct packmarks_place *place, const uint8_t *window);

#endif
