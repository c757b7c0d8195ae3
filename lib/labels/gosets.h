#ifndef CPROF_LABELS_GOSETS_H
#define CPROF_LABELS_GOSETS_H

/*
 * The label sets of one Go program, by their address in it.
 *
 * A set does not change while a goroutine has it, but then the garbage collector may give its
 * memory to another one.  So each reading of the program compares the bytes again of which a known
 * set was made.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "symbolize/runtime/go-labels.h"

struct appvalues;
struct gopieces;
struct labels;
struct runtime_memory;

struct gosets_piece { uint64_t at; uint32_t off, n_bytes; };

struct gosets_set {
	uint64_t at;
	uint32_t set;              /* an id in labels, or GOTIMES_UNKNOWN */
	uint32_t reading;          /* the last one in which its bytes were compared */
	uint32_t first_queued;     /* in that of gopieces; GOPIECES_NONE: none */
	VEC(struct gosets_piece) piece;
	VEC(uint8_t) bytes;
};

struct gosets {
	struct appvalues *values;  /* borrowed, like the following */
	struct labels *labels;
	enum go_label_format format;
	uint64_t n_other;          /* sets with some value beyond the limit */
	/* private */
	VEC(struct gosets_set) known;
	struct hashindex by_at;
	struct go_labels text;
	uint32_t reading;
	size_t n_bytes;
};

void gosets_init(struct gosets *s, struct appvalues *values, struct labels *labels,
		 enum go_label_format format);
void gosets_done(struct gosets *s);

/* A reading begins: nothing that is known counts until its bytes were compared. */
void gosets_begin(struct gosets *s);

/* Adds what a known set was made of to the pieces that will be read; compares it once they are. */
void gosets_queue(struct gosets *s, uint64_t at, struct gopieces *p);
void gosets_compare(struct gosets *s, const struct gopieces *p);

/* The id of the set at an address, 0 for the address 0; GOTIMES_UNKNOWN: it is malformed, cannot be
 * read, or memory is short. */
uint32_t gosets_get(struct gosets *s, const struct runtime_memory *m, uint64_t at);

/* Forgets all sets: ids, or values, have changed. */
void gosets_clear(struct gosets *s);

#endif
