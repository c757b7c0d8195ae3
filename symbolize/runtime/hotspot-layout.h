#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_LAYOUT_H

/*
 * Where a HotSpot JVM keeps what describes its code.  The JVM itself says so, in the tables that it
 * exports for its serviceability agent (vmStructs.hpp of OpenJDK): offset and type of each field,
 * size of each type, value of each constant.
 */

#include <stdbool.h>
#include <stdint.h>

struct cfi;
struct runtime_memory;

/* A field of an object; n_bytes 0: this version has no such field. */
struct hotspot_field {
	uint16_t off;
	uint8_t n_bytes;
};

/* Each is a row of the table in hotspot-layout.c. */
struct hotspot_layout {
	/* addresses of static fields; 0: none */
	uint64_t heaps, heap, major_version, interpreter, counters;
	struct hotspot_field array_len, array_data;
	struct hotspot_field space_low, space_high;
	struct hotspot_field heap_memory, heap_segments, heap_log2;
	struct hotspot_field block_length, block_used;
	struct hotspot_field blob_name, blob_size, blob_frame_size, blob_complete;
	struct hotspot_field blob_code_begin, blob_code_end, blob_code_off, blob_data_off;
	struct hotspot_field blob_mutable, blob_mutable_size, blob_relocation_size;
	struct hotspot_field code_method, code_id, code_pcs, code_dependencies, code_metadata;
	struct hotspot_field code_scopes_at, code_scopes, code_immutable, code_immutable_size;
	struct hotspot_field pc_off, pc_scope;
	struct hotspot_field method_const, const_pool, const_flags, const_code_size, const_name,
		const_signature;
	struct hotspot_field pool_holder, pool_source, klass_name, klass_source;
	struct hotspot_field symbol_length, symbol_body;
	struct hotspot_field queue_buffer, queue_limit;
	/* sizes of types in bytes */
	uint32_t block_bytes, pc_bytes, const_bytes, pool_bytes;
	uint32_t has_lines;             /* the bit of const_flags */
	uint32_t version;               /* the JDK's: 8, 11 ... */
	uint32_t blob_bytes;            /* of a blob, up to the last field above */
};

enum hotspot_layout_result {
	HOTSPOT_LAYOUT_OK,
	HOTSPOT_LAYOUT_ABSENT,          /* the file has no such tables */
	HOTSPOT_LAYOUT_UNREADABLE,      /* the memory cannot be read */
	HOTSPOT_LAYOUT_UNSUPPORTED,     /* see missing */
};

/*
 * c: of libjvm.so, which is mapped with that bias.  *ret_missing: the field, type or version that
 * is missing, or NULL; a constant.  Only what names of functions need is required: without the
 * others there are no lines or inlined functions.
 */
enum hotspot_layout_result hotspot_layout_read(struct cfi *c, uint64_t bias,
					       const struct runtime_memory *memory,
					       struct hotspot_layout *ret,
					       const char **ret_missing);

/* The value of a field in the bytes of its object; 0 if it does not exist. */
uint64_t hotspot_get(const void *object, struct hotspot_field f);

/* The versions whose tables have been tried. */
#define HOTSPOT_VERSION_MIN 8u
#define HOTSPOT_VERSION_MAX 26u

#endif
