#ifndef CPROF_PROFILE_RESULTS_H
#define CPROF_PROFILE_RESULTS_H

/* The results of an engine in the terms of the public API, for recording and import alike. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cprof_config;
struct cprof_event_stats;
struct cprof_rate_cut;
struct cprof_scope_change;
struct cprof_stack_ends;
struct cprof_stats;
struct engine;
struct export_number;
struct err;
struct names;
struct source;

/* Sets what engine, source and names (NULL: not looked up yet) know; leaves other fields
 * unchanged. */
void results_stats(const struct engine *g, const struct source *s, const struct names *names,
		   struct cprof_stats *ret);

/* As cprof_recorder_stack_ends. */
bool results_stack_ends(const struct engine *g, size_t i, struct cprof_stack_ends *ret);

/* The sum, then the files with the most early ends, worst first; returns the number of entries in
 * ret, 1 to n_max. */
size_t results_worst_ends(const struct engine *g, struct cprof_stack_ends *ret, size_t n_max);

/* One event's profile, and what its file says about the recording; all borrowed. */
struct results_profile {
	const struct engine *engine;
	const struct names *names;
	uint32_t event;
	const struct cprof_config *config;
	const struct source *source;
	const struct cprof_stats *stats;
	const struct cprof_event_stats *ev;
	const struct cprof_rate_cut *cuts;     /* ev->n_rate_cuts */
	const struct cprof_scope_change *changes;  /* stats->n_scope_changes */
	uint64_t period;
	double coverage_percent;               /* negative: unknown */
	const char *count_type;                /* as in export_info */
	unsigned optional_labels;              /* as in export_info */
	const struct export_number *number;    /* likewise */
	size_t n_numbers;
	bool is_count, is_memory;              /* likewise */
	uint64_t start_ns, end_ns;             /* likewise */
	const char *held_count_type, *held_type, *period_type;  /* likewise */
	const char *peak_count_type, *peak_type;
	const char *const *remark;             /* further comments */
	size_t n_remarks;
	const struct export_part *part;        /* as in export_info; its only comment is origin */
	const char *origin;                    /* one more comment, or NULL */
};

/* -ENOMEM, or what write returned. */
int results_write(const struct results_profile *p,
		  int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		  struct err *e);

#endif
