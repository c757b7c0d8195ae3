#ifndef CPROF_RECORDER_KINDS_SNAPSHOTKIND_H
#define CPROF_RECORDER_KINDS_SNAPSHOTKIND_H

/* What all kinds whose profile is a snapshot have in common: one event, no records, no coverage,
 * and comments about what was seen. */

#include <stddef.h>

#include "event/evopen.h"
#include "recorder/kind.h"

struct export_number;
struct snapshot;

/* Sets the event, whose sample types are name/count and wait/nanoseconds, and k->state, of n_bytes
 * that are zero.  number: the labels that are numbers. */
int snapshotkind_choose(struct kind_session *k, const char *name,
			const struct export_number *number, size_t n_numbers, size_t n_bytes,
			struct err *e);

/* For struct cprof_kind. */
int snapshotkind_open(struct kind_session *k, struct err *e);
double snapshotkind_coverage(const struct kind_session *k, const struct cprof_stats *stats,
			     const struct cprof_event_stats *event);

/* Opens the events of samples. */
evopen_fn *snapshotkind_opener(const struct kind_session *k);

/* Replaces all comments by: how many entries of which quality s has, and what is missing. */
void snapshotkind_describe(struct kind_session *k, const struct snapshot *s, const char *what);

/* Adds a comment. */
void __attribute__((format(printf, 2, 3)))
snapshotkind_remark(struct kind_session *k, const char *format, ...);

/* Frees comments and state. */
void snapshotkind_close(struct kind_session *k);

#endif
