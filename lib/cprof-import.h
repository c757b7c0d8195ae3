#ifndef CPROF_IMPORT_H
#define CPROF_IMPORT_H

/*
 * Profiles from recordings of perf(1): perf.data, from this machine or another one.
 *
 *     struct cprof_import_config config = { .path = "perf.data" };
 *     struct cprof_importer *m;
 *     if (cprof_importer_new(&config, &m, &e) == 0) {
 *             int code = cprof_importer_run(m, &e);
 *             cprof_importer_write(m, 0, write, ctx, &e2);
 *     }
 *     cprof_importer_free(m);
 *
 * Conventions as in cprof.h.  Files of the running machine are used only if they have the recorded
 * build ids, and the names of its kernel only if the recording was made under it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof.h"

struct cprof_importer;

/* Bits of cprof_import_config.waits: profiles of how long threads waited (cprof-waiting(7)). */
enum cprof_import_waits {
	CPROF_IMPORT_OFF_CPU = 1, CPROF_IMPORT_WALL = 2, CPROF_IMPORT_BLOCK = 4,
	CPROF_IMPORT_MUTEX = 8,
};

/* All zero but path is a valid start; pointers are borrowed until cprof_importer_free. */
struct cprof_import_config {
	const char *path;              /* a file, a folder of perf record --threads, "-": stdin */
	const char *symfs;             /* folder with the recorded files below it; NULL: / */
	const char *const *debug_dir;  /* further folders with files by build id */
	size_t n_debug_dirs;
	enum cprof_callgraph callgraph;  /* which recorded stack; AUTO: the best of each sample */
	const char *const *label;      /* "KEY=VALUE" on every sample */
	size_t n_labels;
	bool labels_given;             /* false: the default labels that differ between samples */
	unsigned labels;               /* enum cprof_label bits, without CPROF_LABEL_CGROUP */
	bool waits_given;              /* false: off-cpu, if the file was recorded for it */
	unsigned waits;                /* enum cprof_import_waits bits, in place of the profiles of
					* the events that they are computed from */
	bool locks;                    /* block and mutex have the label lock */
	uint64_t timeline_ns;          /* as in struct cprof_config */
	struct cprof_naming naming;
	uint64_t max_memory_bytes;     /* 0: 256 MiB */
	uint64_t symbol_timeout_ns;    /* as in struct cprof_config */
	const char *cache_dir;         /* as in struct cprof_config */
	const struct log *log;
	/* Threads that read the file; 0: 1.  CPROF_READERS_AUTO: as many as its size and the CPUs
	 * suggest.  A stream is read by one, and so are profiles of waits. */
	uint32_t n_readers;
	struct mapguard_table *maps;   /* of the handler of SIGBUS; NULL: there is none */
};

/* Results of an import beyond struct cprof_stats; strings are borrowed from the importer. */
struct cprof_import_stats {
	const char *perf_version;      /* that wrote the file; "": unknown */
	const char *hostname, *kernel_release, *machine;
	bool is_pipe, is_swapped;      /* a stream; the other byte order */
	bool is_running_kernel;        /* recorded under the running kernel */
	uint64_t n_records;
	uint64_t n_other_records;      /* of perf itself, without use for a profile */
	uint64_t n_unknown_records;    /* of unknown types, skipped by size */
	uint64_t n_newer_attrs;        /* events with unknown attr fields */
	uint64_t n_unknown_features;   /* unknown header sections */
	uint32_t n_recorded_files;     /* files of a folder, or 1 */
	uint64_t n_foreign_ids;        /* samples of an event that the file does not describe */
	uint64_t n_aux_bytes;          /* hardware traces, skipped */
	uint64_t n_tracing_bytes;      /* formats of tracepoints */
	uint64_t n_bad_features;       /* header sections that could not be read */
	uint64_t n_guests;             /* samples in virtual machines, whose code is unknown */
	uint64_t n_files, n_files_proven;           /* opened; proven by build id */
	uint64_t n_files_missing, n_files_wrong;    /* missing; another version */
	const char *const *absent;     /* the first of the recorded files that are not here */
	size_t n_absent;
	const char *why_not_kernel;    /* why kernel functions have no names; NULL: they have */
};

/* Opens the file and reads its header.  -errno with e set. */
int cprof_importer_new(const struct cprof_import_config *config,
		       struct cprof_importer **ret_importer, struct err *e);
void cprof_importer_free(struct cprof_importer *m);

/* Processes all records.  After a failure (a damaged file) with e set, the profile of the records
 * before it can be written; but not after -ESTALE: the file was truncated while it was read. */
int cprof_importer_run(struct cprof_importer *m, struct err *e);

/* Like the functions of the recorder with the same names; valid after run. */
size_t cprof_importer_n_events(const struct cprof_importer *m);
void cprof_importer_stats(struct cprof_importer *m, struct cprof_stats *ret_stats);
void cprof_importer_event_stats(struct cprof_importer *m, size_t event,
				struct cprof_event_stats *ret_stats);
void cprof_importer_import_stats(struct cprof_importer *m, struct cprof_import_stats *ret_stats);
bool cprof_importer_stack_ends(struct cprof_importer *m, size_t i, struct cprof_stack_ends *ret);

/* Writes the gzipped pprof of one event.  The first call looks up names. */
int cprof_importer_write(struct cprof_importer *m, size_t event,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e);

#endif
