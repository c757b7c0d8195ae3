#ifndef CPROF_IMPORT_H
#define CPROF_IMPORT_H

/*
 * A profile of what perf(1) has recorded: perf.data, from this machine or another one.
 *
 *     struct cprof_import_config config = { .path = "perf.data" };
 *     struct cprof_importer *m;
 *     if (cprof_importer_new(&config, &m, &e) == 0) {
 *             int code = cprof_importer_run(m, &e);
 *             cprof_importer_write(m, 0, write, ctx, &e2);
 *     }
 *     cprof_importer_free(m);
 *
 * Conventions as in cprof.h.  Of the running machine only files are read that have the right build
 * ids, and the names of its kernel when the file was recorded under it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof.h"

struct cprof_importer;

/* All zero but path is a valid start; pointers are borrowed until cprof_importer_free. */
struct cprof_import_config {
	const char *path;              /* a file, a folder of perf record --threads, "-": stdin */
	const char *symfs;             /* folder below which the recorded files lie; NULL: / */
	const char *const *debug_dir;  /* where files lie by build id, besides the usual ones */
	size_t n_debug_dirs;
	enum cprof_callgraph callgraph;  /* of what was recorded; AUTO: the best of each sample */
	const char *const *label;      /* "KEY=VALUE" on every sample */
	size_t n_labels;
	bool labels_given;             /* false: the default ones, where they tell samples apart */
	unsigned labels;               /* enum cprof_label bits, without CPROF_LABEL_CGROUP */
	struct cprof_naming naming;
	uint64_t max_memory_bytes;     /* 0: 256 MiB */
	uint64_t symbol_timeout_ns;    /* as in struct cprof_config */
	const char *cache_dir;         /* as in struct cprof_config */
	const struct log *log;
};

/* What an import tells beyond struct cprof_stats; strings are borrowed from the importer. */
struct cprof_import_stats {
	const char *perf_version;      /* that wrote the file; "" unknown */
	const char *hostname, *kernel_release, *machine;
	bool is_pipe, is_swapped;      /* a stream; of a machine with the other byte order */
	bool is_running_kernel;        /* recorded under the kernel that runs here now */
	uint64_t n_records;
	uint64_t n_other_records;      /* of perf itself, of no use for a profile */
	uint64_t n_unknown_records;    /* of types unknown here: skipped by their size */
	uint64_t n_newer_attrs;        /* events with attr fields unknown here */
	uint64_t n_unknown_features;   /* header sections unknown here */
	uint32_t n_recorded_files;     /* of a folder; else 1 */
	uint64_t n_foreign_ids;        /* samples of an event that the file does not describe */
	uint64_t n_aux_bytes;          /* hardware traces, skipped */
	uint64_t n_tracing_bytes;      /* formats of tracepoints, skipped */
	uint64_t n_bad_features;       /* header sections that could not be read */
	uint64_t n_guests;             /* samples in virtual machines: their code is not known */
	uint64_t n_files, n_files_proven;           /* opened; and of those, by build id */
	uint64_t n_files_missing, n_files_wrong;    /* not there; there, but another version */
};

/* Opens the file and reads its header.  -errno with e set. */
int cprof_importer_new(const struct cprof_import_config *config,
		       struct cprof_importer **ret_importer, struct err *e);
void cprof_importer_free(struct cprof_importer *m);

/* Takes in all records.  A failure (a damaged file) with e set leaves what came before it:
 * it can be written. */
int cprof_importer_run(struct cprof_importer *m, struct err *e);

/* As their namesakes of the recorder; valid after run. */
size_t cprof_importer_n_events(const struct cprof_importer *m);
void cprof_importer_stats(struct cprof_importer *m, struct cprof_stats *ret_stats);
void cprof_importer_event_stats(struct cprof_importer *m, size_t event,
				struct cprof_event_stats *ret_stats);
void cprof_importer_import_stats(struct cprof_importer *m, struct cprof_import_stats *ret_stats);
bool cprof_importer_stack_ends(struct cprof_importer *m, size_t i, struct cprof_stack_ends *ret);

/* Writes the gzipped pprof of one event.  Names are looked up at the first call. */
int cprof_importer_write(struct cprof_importer *m, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e);

#endif
