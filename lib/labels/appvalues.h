#ifndef CPROF_LABELS_APPVALUES_H
#define CPROF_LABELS_APPVALUES_H

/*
 * The texts of labels that programs set, and a limit on how many different ones there may be: the
 * first APPVALUES_PER_KEY values of each of the first APPVALUES_KEYS keys.  Everything beyond is
 * "[other]", and takes no memory.
 */

#include "base/hashindex.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct label;
struct strtab;

#define APPVALUES_PER_KEY 1000u
#define APPVALUES_KEYS 64u
#define APPVALUES_OTHER "[other]"

struct appvalues {
	struct strtab *strings;    /* borrowed */
	bool (*is_taken)(void *ctx, const char *key); /* such a key gets the prefix "app." */
	void *taken_ctx;
	/* private */
	VEC(uint64_t) seen;        /* key << 32 | value */
	struct hashindex by_pair;
	struct { uint32_t key, n; } keys[APPVALUES_KEYS];
	unsigned n_keys;
};

void appvalues_init(struct appvalues *v, struct strtab *strings);
void appvalues_done(struct appvalues *v);

/* The label of these texts, as UTF-8.  False: it is beyond the limits, and its value is [other]. */
bool appvalues_label(struct appvalues *v, const char *key, const char *value, struct label *ret);

/* Has some key reached the limit of values, or is the limit of keys reached? */
bool appvalues_is_full(const struct appvalues *v);

/* Forgets all keys and values, which makes room for others. */
void appvalues_clear(struct appvalues *v);

/* Call it when strings have new ids.  renew changes an id, or returns false if the string is gone,
 * which makes room for another.  If memory is short, all values are forgotten. */
void appvalues_renew(struct appvalues *v, bool (*renew)(void *ctx, uint32_t *string), void *ctx);

#endif
