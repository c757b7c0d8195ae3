#ifndef CPROF_PROTO_PPROF_H
#define CPROF_PROTO_PPROF_H

/*
 * A streaming writer of profile.proto (github.com/google/pprof): each message goes through gzip to
 * the output at once, so the whole profile is never in memory.  Mappings, functions and locations
 * get the ids 1, 2, 3 ... in order, since several readers use ids as indices.  Strings are passed
 * as text and interned; the string table is written last.  Every string is converted to valid
 * UTF-8.
 *
 * Errors stick: after the first failed write all calls do nothing, and pprof_finish reports the
 * failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct pprof;

/* Receives the compressed bytes; returns 0 or -errno. */
typedef int pprof_write_fn(void *ctx, const void *data, size_t n_bytes);

struct pprof_value_type { const char *type, *unit; };

/* str NULL: a number.  Labels with an empty str, or with num 0 and no num_unit, are left out, since
 * readers cannot distinguish them from absent labels. */
struct pprof_label { const char *key, *str; int64_t num; const char *num_unit; };

struct pprof_mapping {
	uint64_t memory_start, memory_limit, file_offset;
	const char *filename, *build_id;
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

/* The file name of an empty first mapping, where readers expect the main binary: many programs ran,
 * and no location is in it.  Readers do not look for files whose names begin with '['. */
#define PPROF_NO_MAIN "[several programs]"

struct pprof_function { const char *name, *system_name, *filename; int64_t start_line; };

struct pprof_line { uint64_t function_id; int64_t line, column; };

/* level: zlib 0..9.  -ENOMEM with e set. */
int pprof_new(pprof_write_fn *write, void *ctx, int level, struct pprof **ret_pprof, struct err *e);
void pprof_free(struct pprof *p);

void pprof_sample_type(struct pprof *p, const char *type, const char *unit);
/* n_values is the number of sample types. */
void pprof_sample(struct pprof *p, const uint64_t *location_ids, size_t n_locations,
		  const int64_t *values, size_t n_values,
		  const struct pprof_label *labels, size_t n_labels);
/* Each returns the new id: 1 for the first, and so on. */
uint64_t pprof_mapping(struct pprof *p, const struct pprof_mapping *m);
uint64_t pprof_function(struct pprof *p, const struct pprof_function *f);
uint64_t pprof_location(struct pprof *p, uint64_t mapping_id, uint64_t address,
			const struct pprof_line *lines, size_t n_lines, bool is_folded);
void pprof_times(struct pprof *p, int64_t time_nanos, int64_t duration_nanos);
void pprof_period(struct pprof *p, const char *type, const char *unit, int64_t period);
void pprof_comment(struct pprof *p, const char *text);
void pprof_default_sample_type(struct pprof *p, const char *type);
/* drop_frames, keep_frames and doc_url; empty ones are left out. */
void pprof_filters(struct pprof *p, const char *drop, const char *keep, const char *doc_url);

/* Writes the rest (string table, gzip trailer).  0, or the first error: that of `write`, or
 * -ENOMEM.  No calls may follow. */
int pprof_finish(struct pprof *p, struct err *e);

#endif
