#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_METHOD_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_METHOD_H

/* A Java method as the JVM has it in memory. */

#include <stdbool.h>
#include <stdint.h>

struct hotspot_layout;
struct runtime_memory;

struct hotspot_method {
	char *name;                     /* "java.lang.String.indexOf" */
	char *linkage;                  /* the same with types: "java.lang.String.indexOf(I)I" */
	char *file;                     /* "String.java"; NULL: unknown */
	uint8_t *lines;                 /* its compressed line table; NULL: none */
	uint32_t n_lines_bytes;
	uint32_t n_class_bytes, n_name_bytes;   /* of the texts in memory, up to a limit */
};

/* Where the parts of its names are. */
struct hotspot_method_places {
	uint64_t constant;              /* the ConstMethod */
	uint64_t holder_at;             /* the word in the pool that leads to the class */
	uint64_t class_at, class_text;  /* a word, and the Symbol to which it leads */
	uint64_t name_at, name_text;
};

/* at: of its Method object.  False: not a method, not readable, or no memory; then ret holds
 * nothing.  ret_places may be NULL. */
bool hotspot_method_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			 uint64_t at, struct hotspot_method *ret,
			 struct hotspot_method_places *ret_places);
void hotspot_method_done(struct hotspot_method *m);

uint32_t hotspot_method_line(const struct hotspot_layout *l, const struct hotspot_method *m,
			     int32_t bci);

uint64_t hotspot_method_bytes(const struct hotspot_method *m);

#endif
