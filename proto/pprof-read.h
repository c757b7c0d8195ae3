#ifndef CPROF_PROTO_PPROF_READ_H
#define CPROF_PROTO_PPROF_READ_H

/*
 * Reads any profile.proto, gzipped or not, into one struct.  The input is not trusted.
 *
 * No string is NULL, except a label's str: an absent string is "".  Strings end at their first NUL
 * byte and may be invalid UTF-8.  The reader guarantees that ids are unique and not 0, that each
 * sample has as many values as there are sample types, and that every reference to a mapping,
 * function, location or string is valid.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct profile_value_type { const char *type, *unit; };
struct profile_label { const char *key, *str, *num_unit; int64_t num; };  /* str NULL: a number */
struct profile_mapping {
	uint64_t id, memory_start, memory_limit, file_offset;
	const char *filename, *build_id;
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};
struct profile_function {
	uint64_t id;
	const char *name, *system_name, *filename;
	int64_t start_line;
};
struct profile_line {
	const struct profile_function *function;  /* may be NULL */
	int64_t line, column;
};
struct profile_location {
	uint64_t id, address;
	const struct profile_mapping *mapping;  /* may be NULL */
	struct profile_line *line;              /* innermost inlined function first */
	size_t n_lines;
	bool is_folded;
};
struct profile_sample {
	const struct profile_location **location;  /* leaf first */
	int64_t *value;                            /* one per sample type */
	struct profile_label *label;
	size_t n_locations, n_labels;
};

struct profile {
	struct profile_value_type *sample_type; size_t n_sample_types;
	struct profile_sample *sample;          size_t n_samples;
	struct profile_mapping *mapping;        size_t n_mappings;
	struct profile_location *location;      size_t n_locations;
	struct profile_function *function;      size_t n_functions;
	const char **comment;                   size_t n_comments;
	const char *default_sample_type, *drop_frames, *keep_frames, *doc_url;
	const char **string;                    size_t n_strings;  /* as in the file */
	struct profile_value_type period_type;  /* "" if absent */
	int64_t period, time_nanos, duration_nanos;
	void *arena;                            /* private to the reader */
};

/* Parses n bytes; the result does not refer to data.  max_bytes limits the uncompressed size (0:
 * 4 GiB).  -EINVAL: e names the problem and its offset in the uncompressed bytes; -E2BIG,
 * -ENOMEM. */
int profile_read(const void *data, size_t n_bytes, size_t max_bytes, struct profile **ret_profile,
		 struct err *e);

/* The same for a file, or anything that can be read to its end; also -errno of opening and
 * reading. */
int profile_read_file(const char *path, struct profile **ret_profile, struct err *e);
void profile_free(struct profile *p);

/* Reads a whole file of up to 4 GiB; the caller frees *ret_data.  -errno. */
int profile_read_bytes(const char *path, uint8_t **ret_data, size_t *ret_n);

/* Sets e's hint, unless it has one, to what such bytes, which are no profile, may be.  e may be
 * NULL. */
void pprof_read_hint(const uint8_t *data, size_t n_bytes, struct err *e);

#endif
