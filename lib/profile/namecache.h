#ifndef CPROF_PROFILE_NAMECACHE_H
#define CPROF_PROFILE_NAMECACHE_H

/*
 * Names of frames that were looked up for earlier profiles of a recording.  A frame is known by the
 * key of its file and its address, so names outlive the processes that mapped the file, and are the
 * same for all of them.  Names from a table of symbols are those of a range of addresses, so that a
 * function is looked up once, not at each of its addresses.
 *
 * Entries come as a stream of bytes from the process that looked the names up.  There are two
 * generations: when the newer one is full it becomes the older one, which is dropped.  What is used
 * is sent again, so that it is in the newer one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/name/symbolizer.h"

struct namecache_place {               /* of kernel code, see struct names_mapping */
	uint64_t start, limit, shift;
	uint32_t filename, build_id;   /* strings of the generation */
};

#define NAMECACHE_NO_PLACE UINT32_MAX

struct namecache_entry {
	uint64_t vaddr, end;           /* end 0: of this address only */
	uint64_t address;              /* as in struct names_frame, if end is 0 */
	uint32_t file;                 /* the key, a string of the generation */
	uint32_t first_line;           /* in lines, whose strings are those of the generation */
	uint32_t place;                /* or NAMECACHE_NO_PLACE */
	uint16_t n_lines;
	uint8_t source;                /* enum symbolizer_source */
	uint8_t has;                   /* bits of enum namecache_has */
};

enum namecache_has {
	NAMECACHE_FUNCTIONS = 1, NAMECACHE_FILENAMES = 2, NAMECACHE_LINE_NUMBERS = 4,
	NAMECACHE_INLINE_FRAMES = 8,
};

struct namecache_generation {
	struct budget budget;
	struct strtab strings;
	struct hashindex index;
	struct namecache_entry *entry;
	struct symline *line;
	uint32_t n_entries, cap_entries, n_lines, cap_lines;
	uint32_t *range;               /* entries with an end, by file and vaddr */
	uint32_t n_ranges, cap_ranges;
	VEC(struct namecache_place) places;
};

/* All zeros: empty. */
struct namecache {
	struct namecache_generation *now, *before;
};

/* A file in both generations; 0: not there.  Holds until the next namecache_add. */
struct namecache_file {
	uint32_t now, before;
};

/* A line as in struct symline. */
struct namecache_line {
	const char *name, *linkage, *file;
	uint32_t line, column, start_line;
};

/* An entry in transit; strings are borrowed. */
struct namecache_item {
	const char *key;
	uint64_t vaddr, end, address;  /* as in struct namecache_entry */
	uint8_t source, has;
	bool has_place;
	uint64_t start, limit, shift;
	const char *filename, *build_id;
	const struct namecache_line *line;
	uint16_t n_lines;
};

struct namecache_bytes { VEC(char) data; };

#define NAMECACHE_LINES_MAX 256u

/* Appends an item to a stream; false: out of memory. */
bool namecache_put(struct namecache_bytes *to, const struct namecache_item *item);

/* Adds the complete items at the beginning of a stream, and returns the number of their bytes.
 * limit_bytes: of both generations.  -EINVAL: no stream of namecache_put; -ENOMEM. */
long namecache_add(struct namecache *c, const char *data, size_t n_bytes, size_t limit_bytes);

struct namecache_file namecache_file(const struct namecache *c, const char *key);

/* The entry, and the generation that it is in; NULL: unknown. */
const struct namecache_entry *namecache_find(const struct namecache *c, struct namecache_file file,
					     uint64_t vaddr,
					     const struct namecache_generation **ret_in);

/* The bytes that it holds. */
size_t namecache_bytes_used(const struct namecache *c);
void namecache_done(struct namecache *c);

#endif
