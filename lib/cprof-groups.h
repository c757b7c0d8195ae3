#ifndef CPROF_GROUPS_H
#define CPROF_GROUPS_H

/*
 * A profile of all processes in parts, one for each group of processes with the same cgroup and
 * program.  The recorder's labels must include CPROF_LABEL_CGROUP and CPROF_LABEL_EXE.
 * Conventions as in cprof.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof-error.h"

struct cprof_groups;
struct cprof_recorder;

/* Strings are borrowed from the recorder until it goes on; "": unknown, or there is none, as for
 * the kernel's own threads. */
struct cprof_group {
	const char *cgroup, *exe, *exe_build_id;
	const char *process_name;      /* "": there are several */
	uint64_t n_samples, value;
};

/* The groups of what has been recorded, after a snapshot; the largest value first.  The caller
 * frees them before the recorder goes on. */
int cprof_groups_new(struct cprof_recorder *r, size_t event, struct cprof_groups **ret,
		     struct cprof_error *e);
void cprof_groups_free(struct cprof_groups *g);

size_t cprof_groups_n(const struct cprof_groups *g);
void cprof_groups_get(const struct cprof_groups *g, size_t i, struct cprof_group *ret);

#define CPROF_GROUPS_LABELS_MAX 16

/* What a profile leaves out to be smaller. */
struct cprof_groups_detail {
	bool only_functions;           /* all code of a function has the address of its most
					* frequent place; no mangled names */
	double keep;                   /* about this share of the samples, each of which also has
					* the values of its neighbours; 0 and 1: all */
	uint64_t seed;                 /* which ones */
	uint64_t n_folded;             /* the samples that were left out are added to it */
};

/*
 * Writes a profile of the groups for which chosen[] is set.  Its samples have the labels given as
 * "KEY=VALUE" in place of those that define a group, and the name of their process if there are
 * several.  detail may be NULL.
 */
int cprof_groups_write(const struct cprof_groups *g, const bool *chosen, const char *const *label,
		       size_t n_labels, const char *comment, struct cprof_groups_detail *detail,
		       int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		       struct cprof_error *e);

#endif
