#ifndef CPROF_PROFILE_NAMES_KEPT_H
#define CPROF_PROFILE_NAMES_KEPT_H

/* Names of earlier profiles (namecache.h) for the frames of an engine, and back. */

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/namecache.h"

struct dso;
struct engine;
struct names;
struct names_options;

/* How frames of a DSO are known. */
#define NAMES_KEPT_KEY_MAX 4200

/*
 * The key of a DSO: its build id and its path, or a file without build id as long as it is known;
 * of the kernel, also the modules that are loaded.  False: its names are looked up each time,
 * because they may change.
 */
bool names_kept_key(const struct engine *g, const struct names_options *o, const struct dso *d,
		    char key[NAMES_KEPT_KEY_MAX]);

/* Gives a frame of d, which is that file in the cache, the names that it had; false if they are
 * unknown, or out of memory. */
bool names_kept_take(struct engine *g, struct names *n, const struct namecache *c,
		     const struct dso *d, struct namecache_file file, uint32_t frame);

/* Appends the names that the cache does not have, or only in its older generation; false: out of
 * memory. */
bool names_kept_put(const struct engine *g, const struct names *n, const struct names_options *o,
		    const struct namecache *c, struct namecache_bytes *to);

#endif
