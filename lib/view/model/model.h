#ifndef CPROF_VIEW_MODEL_MODEL_H
#define CPROF_VIEW_MODEL_MODEL_H

/*
 * A profile in memory, or several merged into one, as compact arrays that refer to each other by
 * index.  Names are string ids (model_string); a line has a function; a location has lines and a
 * mapping; a stack has locations; a sample has a stack, a label set and a value for each sample
 * type.  Equal items are stored once, by the rules of pprof's merge, so indices can be compared:
 *
 *   mapping    size in pages, file offset, build id or else file name
 *   function   name, system name, file, start line
 *   location   mapping, address in it, lines, is_folded
 *   stack      its locations
 *   sample     stack and labels; values of equal samples are added (saturating).  Samples whose
 *              values are all 0 are left out.
 *
 * Items are in the order of the first sample that uses them; unused items are left out.  The
 * exception is mapping 0: the first mapping of the first file that has one (the main binary).
 *
 * The contents are only as valid as proto/pprof-read.h guarantees: strings are any bytes without
 * NUL, not always UTF-8; values may be negative (a difference); stacks may be empty; a line may
 * have no function and a location no lines.
 *
 * Memory: 4 bytes per location of each distinct stack, 8 + 8 * n_types per sample, 16 per stack;
 * plus the uncompressed file while it is read.
 */

#include "base/cleanup.h"
#include "base/strtab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define MODEL_NONE UINT32_MAX

/* A uint32_t below is a string id unless a comment says otherwise; 0 is "". */
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
	uint32_t first_line, n_lines;   /* in m->line; innermost inlined function first */
	bool is_folded;
};
struct model_stack { size_t first; uint32_t n; };  /* in m->stack_location, leaf first */
struct model_sample { uint32_t stack, labels; };   /* indices; labels 0 is the empty set */
/* A string (str is not 0) or a number.  Sets are sorted by key, equal keys as in the file. */
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
	bool has_less_comments;            /* than the files: see struct model_merge */
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
 * types in the same order, except for a plural s.  Units of one family ("ms", "ns") are
 * converted to the finest.  -EINVAL: not a profile, or not compatible (e names the file and the
 * reason); -E2BIG, -ENOMEM, or -errno of opening and reading. */
int model_read_files(const char *const *path, size_t n_paths, struct model **ret, struct err *e);

/* Reads one profile from memory, gzipped or not; data is not used afterwards. */
int model_read(const void *data, size_t n_bytes, struct model **ret, struct err *e);

/* Reads several from memory and merges them as model_read_files does. */
struct model_part { const void *data; size_t n_bytes; };
int model_read_parts(const struct model_part *part, size_t n_parts, struct model **ret,
		     struct err *e);

/* Writes a gzipped profile with zlib's level.  Returns an error of `write`, or -ENOMEM with e
 * set. */
int model_write(const struct model *m, int (*write)(void *ctx, const void *data, size_t n_bytes),
		void *ctx, int level, struct err *e);

/* Writes only some samples with the items they use, or with other comments. */
struct model_some {
	const bool *sample_out;         /* by sample: leave it out; NULL: keep all */
	const char *const *comment;     /* replace the model's; NULL: keep those */
	size_t n_comments;
};
int model_write_some(const struct model *m, const struct model_some *some,
		     int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		     int level, struct err *e);

void model_free(struct model *m);
CLEANUP_DEFINE(struct model, model_free)

/* The sample type with this name or, as in pprof, this number ("0" is the first).  NULL: the
 * profile's default, or else the last.  -ENOENT, with a hint that lists the types. */
int model_find_type(const struct model *m, const char *name, uint32_t *ret_type, struct err *e);

/* The sample type that counts samples, for standard errors: the type "samples", or else the first
 * type if its unit is "count".  MODEL_NONE without one. */
uint32_t model_count_type(const struct model *m);

/* Saturating addition. */
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
