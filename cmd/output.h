#ifndef CPROF_CMD_OUTPUT_H
#define CPROF_CMD_OUTPUT_H

/* The output files of a recording.  Either all of them appear or none. */

#include <limits.h>
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
 * Opens n outputs, one per event; part[i] is the part of a file name for event i.  The files are
 *  - "cprof.<part>.pb.gz" if name is NULL
 *  - stdout if name is "-", for one event only
 *  - exactly name for one event
 *  - "x.<part>.pb.gz" for several events, if name is "x.pb.gz".
 * stamp, if not NULL, is inserted before the ending: "x.<part>.<stamp>.pb.gz".  On failure returns
 * -errno with e set and leaves nothing behind.
 */
int output_open(struct output *o, const char *const *part, size_t n, const char *name,
		const char *stamp, struct err *e);

/* -EINVAL with e set if stdout is a terminal, which a compressed profile would garble. */
int output_check_terminal(struct err *e);

/* A pprof_write_fn; ctx is a struct output. */
int output_write(void *ctx, const void *data, size_t n_bytes);

/* Removes this output's temporary file: it will not be committed. */
void output_discard(struct output *o);

/* Gives the outputs that were not discarded their final names. */
int output_commit(struct output *o, size_t n, struct err *e);

/* A full disk: discards the outputs that were not discarded, and opens files of the same names in
 * a new folder below $TMPDIR or /tmp that only this user can read.  -errno: there is none, and all
 * are discarded. */
int output_elsewhere(struct output *o, size_t n, char ret_folder[PATH_MAX]);

void output_done(struct output *o);

#endif
