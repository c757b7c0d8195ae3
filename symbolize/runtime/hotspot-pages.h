#ifndef CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_PAGES_H
#define CPROF_SYMBOLIZE_RUNTIME_HOTSPOT_PAGES_H

/* Pages of memory that are read once, for tables with thousands of small pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime_memory;

#define HOTSPOT_PAGES_N 128u

struct hotspot_pages {
	const struct runtime_memory *memory;
	uint32_t n_reads;               /* more than a limit: nothing is read any more */
	struct hotspot_page {
		uint64_t at;            /* 0: empty */
		uint8_t *bytes;         /* NULL: it cannot be read */
	} page[HOTSPOT_PAGES_N];
};

void hotspot_pages_done(struct hotspot_pages *p);

/* False: not all n_bytes, at most a page, can be read. */
bool hotspot_pages_copy(struct hotspot_pages *p, uint64_t at, void *buf, size_t n_bytes);

/* A text with its NUL.  False: it is longer, or cannot be read. */
bool hotspot_pages_text(struct hotspot_pages *p, uint64_t at, char *buf, size_t n_bytes);

#endif
