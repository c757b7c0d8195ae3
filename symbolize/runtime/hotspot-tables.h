#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_TABLES_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_TABLES_H

/* The tables of a compiled method, copied: its PcDescs, its scopes, and the addresses of the
 * methods that these refer to by number. */

#include <stdint.h>

struct hotspot_layout;
struct runtime_memory;

struct hotspot_tables {
	uint8_t *pcs, *scopes;
	uint32_t n_pcs_bytes, n_scopes_bytes;
	uint64_t *metadata;
	uint32_t n_metadata;
};

/* b: the header of the blob at that address.  What cannot be read is NULL, and so is what depends
 * on it. */
void hotspot_tables_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			 uint64_t blob, const uint8_t *b, struct hotspot_tables *ret);
void hotspot_tables_done(struct hotspot_tables *t);

#endif
