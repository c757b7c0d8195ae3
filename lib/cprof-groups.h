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

/*
 * Writes a profile of the groups for which chosen[] is set.  Its samples have the labels given as
 * "KEY=VALUE" in place of those that define a group, and the name of their process if there are
 * several.
 */
int cprof_groups_write(const struct cprof_groups *g, const bool *chosen, const char *const *label,
		       size_t n_labels, const char *comment,
		       int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		       struct cprof_error *e);

#endif
