#ifndef CPROF_VIEW_MODEL_MODEL_H
#define CPROF_VIEW_MODEL_MODEL_H

/*
 * A profile in memory, or several merged into one, in compact arrays.  Everything is an index
 * into one of them: names are string ids (model_string), a line has a function, a location
 * has lines and a mapping, a stack has locations, a sample has a stack, a set of labels and a
 * value for each sample type.  Equal things are there once, by the rules of
 * pprof's merge, so that indices can be compared:
 *
 *   mapping    size in pages, file offset, build id or else file name
 *   function   name, system name, file, start line
 *   location   mapping, address in it, lines, is_folded
 *   stack      its locations
 *   sample     stack and labels; values of equal samples are added (saturating).  Samples whose
 *              values are all 0 are left out.
 *
 * All stand in the order of the first sample that needs them, and what no sample needs is left
 * out, save that mapping 0 is the first one of the first file that has any (the main binary).
 *
 * Nothing here is trusted beyond what proto/pprof-read.h promises: strings are any bytes
 * without NUL, not always UTF-8; values may be negative (a difference); stacks may be empty;
 * a line may have no function and a location no lines.
 *
 * Memory: 4 bytes for each location of each distinct stack, 8 + 8 * n_types for each
 * sample, 16 for each stack; the uncompressed file in addition while it is read.
 */

#include "base/strtab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define MODEL_NONE UINT32_MAX

/* All uint32_t below are string ids where nothing else is said; 0 is "". */
struct model_type { uint32_t type, unit; };
struct model_mapping {
	uint64_t memory_start, memory_limit, file_offset;
	uint32_t filename, build_id;
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};
struct model_function { int64_t start_line; uint32_t name, system_name, filename; };
struct model_line {
	int64_t line, column;
	uint32_t function;              /* index, or MODEL_NONE */
};
struct model_location {
	uint64_t address;
	uint32_t mapping;               /* index, or MODEL_NONE */
	uint32_t first_line, n_lines;   /* in m->line; innermost inlinee first, the caller last */
	bool is_folded;
};
struct model_stack { size_t first; uint32_t n; };  /* in m->stack_location, leaf first */
struct model_sample { uint32_t stack, labels; };   /* indices; labels 0: none */
/* A label is a string (str not 0) or a number.  A set is sorted by key, then as in the file. */
struct model_label { int64_t num; uint32_t key, str, num_unit; };
struct model_labels { uint32_t first, n; };        /* in m->label */

struct model {
	struct model_type *type;           uint32_t n_types;      /* at least 1 */
	struct model_mapping *mapping;     uint32_t n_mappings;
	struct model_function *function;   uint32_t n_functions;
	struct model_line *line;           uint32_t n_lines;
	struct model_location *location;   uint32_t n_locations;
	struct model_stack *stack;         uint32_t n_stacks;
	uint32_t *stack_location;          size_t n_stack_locations;
	struct model_label *label;         uint32_t n_label_items;
	struct model_labels *labels;       uint32_t n_label_sets;  /* set 0 is the empty one */
	struct model_sample *sample;       uint32_t n_samples;
	int64_t *value;                    /* [sample * n_types + type] */
	uint32_t *comment;                 uint32_t n_comments;
	struct strtab strings;
	struct model_type period_type;
	int64_t period;                    /* the largest */
	int64_t time_ns;                   /* the earliest */
	int64_t duration_ns;               /* the sum */
	uint32_t default_type, drop_frames, keep_frames, doc_url;
	uint32_t n_files;
};

static inline const char *model_string(const struct model *m, uint32_t id)
{
	return m->strings.str[id];
}

static inline int64_t model_value(const struct model *m, uint32_t sample, uint32_t type)
{
	return m->value[(size_t)sample * m->n_types + type];
}

/* Reads and merges files; "-" is stdin.  All must have the same period type and the same sample
 * types in the same order, a plural s apart; units of one family ("ms", "ns") are converted
 * to the finest.  -EINVAL (not a profile, or not alike: the text says which file and why),
 * -E2BIG, -ENOMEM, -errno of opening and reading. */
int model_read_files(const char *const *path, size_t n_paths, struct model **ret, struct err *e);

/* The same of one profile in memory, gzipped or not; data is not needed afterwards. */
int model_read(const void *data, size_t n_bytes, struct model **ret, struct err *e);

/* Several in memory, merged as model_read_files does. */
struct model_part { const void *data; size_t n_bytes; };
int model_read_parts(const struct model_part *part, size_t n_parts, struct model **ret,
		     struct err *e);

/* Writes a gzipped profile; level is zlib's.  What `write` returned, or -ENOMEM, with e set. */
int model_write(const struct model *m, int (*write)(void *ctx, const void *data, size_t n_bytes),
		void *ctx, int level, struct err *e);

/* The same of some samples, with what they need, and with other comments. */
struct model_some {
	const bool *sample_out;         /* by sample: left out; NULL: none is */
	const char *const *comment;     /* in the place of the model's own; NULL: those */
	size_t n_comments;
};
int model_write_some(const struct model *m, const struct model_some *some,
		     int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		     int level, struct err *e);

void model_free(struct model *m);

/* The sample type to show: by name, or when name is NULL the default of the profile, or
 * else the last.  Also by number, as pprof has it: "0" is the first.  -ENOENT, with a
 * hint that names those there are. */
int model_find_type(const struct model *m, const char *name, uint32_t *ret_type, struct err *e);

/* The sample type that counts samples (type "samples", or the unit "count" in place 0), for
 * standard errors; MODEL_NONE when there is none. */
uint32_t model_count_type(const struct model *m);

/* Adds without overflow. */
static inline int64_t model_add(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static inline int64_t model_magnitude(int64_t v)
{
	return v >= 0 ? v : v == INT64_MIN ? INT64_MAX : -v;
}

#endif
