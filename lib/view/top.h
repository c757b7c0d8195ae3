#ifndef CPROF_VIEW_TOP_H
#define CPROF_VIEW_TOP_H

/*
 * What each function of a profile costs.  flat: in its own code; cum: in it and in
 * what it called, a stack with the function several times counted once.
 * Inlined frames are functions like others.  Functions are told apart by name,
 * and a location without any counts as "[FILE]", its mapping's base name, or as
 * "<unknown>".  The numbers are those of `go tool pprof -top`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

struct top_row {
	const char *name;
	const char *filename;  /* of the source; "" when unknown */
	int64_t flat, cum;     /* in the unit of the sample type */
	bool is_inlined, is_called;  /* seen as an inlined frame; as a frame of its own */
};

/* Every string lives as long as the top. */
struct top {
	const char *type, *unit;               /* the sample type that was chosen */
	const char *period_type, *period_unit; /* "" when the profile has none */
	const char *binary;                    /* file of the first mapping, or "" */
	int64_t total;                         /* sum of the absolute values of all samples */
	int64_t period, time_ns, duration_ns;
	size_t n_samples;
	struct top_row *row;                   /* those with any value; sorted by flat */
	size_t n_rows;
	struct top_private *priv;
};

/* sample_type NULL: the default one of the profile, or else the last.  p must outlive the
 * result.  -ENOENT: no such sample type (the hint names those there are); -ENOMEM. */
int top_of_profile(const struct profile *p, const char *sample_type, struct top **ret_top,
		   struct err *e);

/* The same of a file; also the failures of profile_read_file. */
int top_of_file(const char *path, const char *sample_type, struct top **ret_top, struct err *e);

void top_free(struct top *t);

/* Largest first, by absolute value; rows alike are in the order of their names. */
enum top_order { TOP_BY_FLAT, TOP_BY_CUM };
void top_sort(struct top *t, enum top_order order);

#endif
