#ifndef CPROF_SNAPSHOT_GOIDLE_H
#define CPROF_SNAPSHOT_GOIDLE_H

/* Goroutines that wait because nothing is to be done. */

#include <stddef.h>
#include <stdint.h>

struct go_g;
struct go_layout;
struct go_table;
struct runtime_memory;

struct goidle {
	struct go_table *table;
	const struct go_layout *layout;
	const struct runtime_memory *memory;
};

/* Frames of the stack that are looked at; a longer one is that of a goroutine at work. */
#define GOIDLE_FRAMES_MAX 8u

/*
 * The value of the label idle of a goroutine that waits: "event-loop" or "pool".  g was read at
 * address at; vaddr: its whole stack, innermost frame first.  NULL: it may wait for anything.
 */
const char *goidle_label(const struct goidle *x, const struct go_g *g, uint64_t at,
			 const uint64_t *vaddr, size_t n);

#endif
