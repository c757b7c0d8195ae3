#ifndef CPROF_CMD_OUTPUT_H
#define CPROF_CMD_OUTPUT_H

/* The files of a recording: their names, and all of them or none. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/outfile.h"

struct err;

struct output {
	struct outfile file;
	char *path;        /* the final name; "-" for stdout */
	uint64_t n_bytes;
	bool open;         /* file is in use */
};

/*
 * Opens n outputs, one per event; part[i] is event i's part of a file name.  name NULL:
 * "cprof.<part>.pb.gz"; "-": stdout, for one event; else exactly name for one event, and
 * "x.<part>.pb.gz" of "x.pb.gz" for several.  stamp, if not NULL, goes behind that, before the
 * ending: "x.<part>.<stamp>.pb.gz".  -errno with e set, and nothing left behind.
 */
int output_open(struct output *o, const char *const *part, size_t n, const char *name,
		const char *stamp, struct err *e);

/* -EINVAL with e set when stdout is a terminal, which a compressed profile would garble. */
int output_check_terminal(struct err *e);

/* A pprof_write_fn; ctx is a struct output. */
int output_write(void *ctx, const void *data, size_t n_bytes);

/* Leaves this one out. */
void output_discard(struct output *o);

/* Gives all that were not discarded their names. */
int output_commit(struct output *o, size_t n, struct err *e);

void output_done(struct output *o);

#endif
