#ifndef CPROF_SYMBOLIZE_PACK_ZCACHE_H
#define CPROF_SYMBOLIZE_PACK_ZCACHE_H

/*
 * The decompressed beginning of a compressed section, in a file of the cache folder, and the place
 * in the compressed bytes where decompression continues after it.  Later recordings of the same
 * file read it instead of decompressing again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/pack/zindex.h"

struct zcache;

/* Opens the file for this key in the folder.  0, or a negative errno if there is none or it is
 * unusable. */
int zcache_open(const char *dir, const struct zindex_key *key, struct zcache **ret);
void zcache_close(struct zcache *c);

/* Where decompression continues; off is the number of bytes in the cache. */
struct zindex_point zcache_rest(const struct zcache *c);

/* Reads the cached bytes around [off, off + n_bytes) to their places in `section`, which has room
 * for the whole section.  Bytes that were read before are not read again.  False if they are
 * damaged or cannot be read. */
bool zcache_fill(struct zcache *c, uint8_t *section, uint64_t off, uint64_t n_bytes);

/* Stores the first rest->off bytes of the section.  Failures are ignored. */
void zcache_save(const char *dir, const struct zindex_key *key, const uint8_t *section,
		 const struct zindex_point *rest);

#endif
