#ifndef CPROF_NAMES_H
#define CPROF_NAMES_H

/*
 * Looking up names, at the end of a recording or an import, or later: a profile that was written
 * without names is completed from files with the same build ids, on any machine.
 * Conventions as in cprof.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof.h"

struct log;

struct cprof_symbolize_config {
	const char *path;              /* the profile */
	const char *symfs;             /* folder with the files below it; NULL: / */
	const char *const *debug_dir;  /* folders with files by build id, besides /usr/lib/debug */
	size_t n_debug_dirs;
	struct cprof_naming naming;
	uint64_t symbol_timeout_ns;    /* for one file's debug information; 0: 10 s */
	const char *cache_dir;         /* for unpacked debug information; NULL: none */
	const struct log *log;
};

struct cprof_symbolize_stats {
	size_t n_addresses, n_named;   /* without a name; of these, named now */
	size_t n_files, n_files_found; /* that contain these */
	uint64_t n_symbol_timeouts;    /* files cut short by symbol_timeout_ns */
	uint64_t n_debug_misfits;      /* files whose debug file belongs to another file */
};

/* Reads the profile, and writes it with names, gzipped.  Existing names are kept. */
int cprof_symbolize(const struct cprof_symbolize_config *config,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct cprof_symbolize_stats *ret_stats, struct cprof_error *e);

/*
 * Large compressed debug information can be unpacked to the recorder's cache_dir while recording
 * goes on, so that names are there when it ends.  cprof_recorder_ahead gives what files have many
 * samples by now that it has not given before; NULL: none.  cprof_ahead_run works through them, in
 * a thread that the caller makes for that; after cprof_ahead_stop, called by another one, it
 * returns within milliseconds of its CPU time.  To be freed before the recorder.
 */
struct cprof_ahead;
struct cprof_ahead *cprof_recorder_ahead(struct cprof_recorder *r);
void cprof_ahead_run(struct cprof_ahead *a);
void cprof_ahead_stop(struct cprof_ahead *a);
void cprof_ahead_free(struct cprof_ahead *a);

#endif
