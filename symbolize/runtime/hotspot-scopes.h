#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_SCOPES_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_SCOPES_H

/* HotSpot's compressed tables: which methods are inlined at a pc, and the lines of bytecode. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot_layout;

/* Bytes of a compiled method's tables. */
struct hotspot_debug {
	const uint8_t *pcs, *scopes;
	uint32_t n_pcs_bytes, n_scopes_bytes;
	bool has_no_zeros;              /* the encoding since JDK 20 */
};

struct hotspot_scope {
	uint32_t metadata;              /* number of the method in the code's metadata, from 1 */
	int32_t bci;                    /* of the bytecode; -1: before the first one */
};

#define HOTSPOT_SCOPES_MAX 64u

/* The methods at that offset from the code's start, innermost first; returns their number, at most
 * HOTSPOT_SCOPES_MAX; 0: unknown. */
size_t hotspot_scopes_find(const struct hotspot_layout *l, const struct hotspot_debug *d,
			   uint32_t off, struct hotspot_scope ret[HOTSPOT_SCOPES_MAX]);

/* The line of a bytecode, by the compressed table of its method; 0: unknown. */
uint32_t hotspot_scopes_line(const uint8_t *table, size_t n_bytes, bool has_no_zeros, int32_t bci);

/* The same table's length in bytes, with its end; n_bytes: it has none in these. */
size_t hotspot_scopes_lines_end(const uint8_t *table, size_t n_bytes, bool has_no_zeros);

#endif
