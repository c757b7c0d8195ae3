#ifndef CPROF_PROFILE_EXPORT_H
#define CPROF_PROFILE_EXPORT_H

/* From the counts of one event to a pprof file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/pprof.h"

struct engine;
struct err;
struct names;

/* Labels with this key are numbers, whose text is decimal. */
struct export_number { const char *key, *unit; };
#define EXPORT_NUMBERS_MAX 4

/* Some of the samples, as a profile of their own. */
struct export_part {
	const uint8_t *has_set;        /* by label set */
	const uint32_t *order;         /* of the stacks: export_order(); the same for all parts */
	const char *const *drop;       /* keys of labels that are left out */
	size_t n_drop;
	const char *const *label;      /* "KEY=VALUE" of each sample */
	size_t n_labels;
	bool only_functions;           /* one address for each, no mangled names */
	double keep;                   /* see lessdetail_thin(); 0 and 1: all samples */
	uint64_t seed;
	uint64_t *n_folded;            /* adds the samples that others stand for; NULL: no */
};
#define EXPORT_PART_LABELS_MAX 16

struct export_info {
	const char *count_type;        /* of value[0]; NULL: "samples" */
	const char *type, *unit;       /* of value[1] and of period_type */
	uint64_t period;
	int64_t time_ns, duration_ns;  /* CLOCK_REALTIME at the start; length */
	const char *const *comment;
	size_t n_comments;
	unsigned optional_labels;      /* built-in ones to leave out if all samples share one
				        * value */
	int level;                     /* zlib */
	const struct export_number *number;
	size_t n_numbers;
	/* The profile is one of memory: value[0] is in parts of a sample (ALLOCS_PARTS), and
	 * innermost frames that only allocate are left out. */
	bool is_memory;
	/* It has these values, too: of the blocks in use; NULL: it has not. */
	const char *held_count_type, *held_type;
	/* And these: of the blocks that were in use at the peak. */
	const char *peak_count_type, *peak_type;
	const char *period_type;       /* NULL: type */
	bool is_count;                 /* readers show value[0] first */
	bool has_waits;                /* add the labels of waitlabel.h */
	const struct export_part *part;/* NULL: all samples */
	uint64_t start_ns, end_ns;     /* CLOCK_MONOTONIC, for the label time */
	double scale;                  /* values are multiplied by it; 0 and 1: unchanged */
};

/* The order of stacks in a file, by id, to be freed; NULL: out of memory. */
uint32_t *export_order(const struct engine *g);

/* Samples are sorted root first, and locations are numbered by frequency: at level 1 the file is a
 * tenth smaller than an unsorted one at level 9, in a tenth of the time. */
int export_write(const struct engine *g, const struct names *names, uint32_t event,
		 const struct export_info *info, pprof_write_fn *write, void *ctx, struct err *e);

#endif
