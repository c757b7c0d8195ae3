#ifndef CPROF_PROTO_OTLP_TABLE_H
#define CPROF_PROTO_OTLP_TABLE_H

/*
 * One table of an OTLP dictionary: encoded messages, or strings, each of them once.  Entry 0 is the
 * zero value, which every such table begins with; its encoding is empty.
 */

#include "base/hashindex.h"
#include "base/vec.h"
#include "proto/wire.h"

#include <stdint.h>

struct otlp_entry { size_t at, n; };

struct otlp_table {
	struct wire bytes;                       /* of all entries, one after the other */
	VEC(struct otlp_entry) entry;   /* from 1 on */
	struct hashindex index;
	bool failed;                             /* out of memory */
};

void otlp_table_done(struct otlp_table *t);

/* The number of the entry with these bytes, which is added if there is none.  0 for no bytes, and
 * if out of memory, with t->failed set. */
uint32_t otlp_table_add(struct otlp_table *t, const void *data, size_t n_bytes);

/* Appends all entries, including the zero value, as a repeated field. */
void otlp_table_write(const struct otlp_table *t, struct wire *w, unsigned int field);

#endif
