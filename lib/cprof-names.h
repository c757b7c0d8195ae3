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
	const char *path;              /* the profile, for cprof_symbolize */
	const char *symfs;             /* folder with the files below it; NULL: / */
	const char *const *debug_dir;  /* folders with files by build id, besides /usr/lib/debug */
	size_t n_debug_dirs;
	struct cprof_naming naming;
	uint64_t symbol_timeout_ns;    /* for one file's debug information; 0: 10 s */
	const char *cache_dir;         /* for unpacked debug information; NULL: none */
	const struct log *log;
	const void *data;              /* the profile in memory, instead of path; NULL */
	size_t n_bytes;
	/* Mappings without a build id: the file of that name is used as it is now. */
	bool by_path;
};

struct cprof_symbolize_stats {
	size_t n_addresses, n_named;   /* without a name; of these, named now */
	size_t n_files, n_files_found; /* that contain these */
	uint64_t n_symbol_timeouts;    /* files cut short by symbol_timeout_ns */
	uint64_t n_debug_misfits;      /* files whose debug file belongs to another file */
	uint64_t n_unanswered;         /* files that FUSE or NFS did not deliver in time */
	uint64_t n_no_descriptors;     /* files not read for lack of descriptors */
};

/* Reads the profile, and writes it with names, gzipped.  Existing names are kept. */
int cprof_symbolize(const struct cprof_symbolize_config *config,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct cprof_symbolize_stats *ret_stats, struct cprof_error *e);

/*
 * Many profiles with the same files.  Addresses of all profiles are collected, then each file is
 * opened once, then all profiles are written.  config->path and data are not used; what config
 * points to must stay valid.
 */
struct cprof_symbolizer;

int cprof_symbolizer_new(const struct cprof_symbolize_config *config,
			 struct cprof_symbolizer **ret, struct cprof_error *e);
void cprof_symbolizer_free(struct cprof_symbolizer *s);
int cprof_symbolizer_collect(struct cprof_symbolizer *s, const char *path, struct cprof_error *e);
int cprof_symbolizer_resolve(struct cprof_symbolizer *s, struct cprof_error *e);
/* Reads the profile again.  Addresses that were not collected get no names. */
int cprof_symbolizer_write(const struct cprof_symbolizer *s, const char *path,
			   int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			   struct cprof_error *e);
/* Of all profiles: addresses and files that are in several of them count once. */
void cprof_symbolizer_stats(const struct cprof_symbolizer *s, struct cprof_symbolize_stats *ret);

/*
 * Names for later profiles.  A child process that has written a profile after fork(2) sends what it
 * looked up (one call of write, or none), and the recorder's process adds it, as a whole, so that
 * the next child need not look it up again.  A sixteenth of max_memory_bytes is used for that.
 */
int cprof_recorder_send_names(struct cprof_recorder *r,
			      int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			      struct cprof_error *e);
int cprof_recorder_add_names(struct cprof_recorder *r, const void *data, size_t n_bytes,
			     struct cprof_error *e);

#endif
