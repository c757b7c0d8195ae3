#ifndef CPROF_LOSSES_H
#define CPROF_LOSSES_H

/*
 * What a profile lacks, by cause: one table for the summaries, their JSON, --strict and the
 * comments in the profile.  lib/profile/losses.c has the rows; cprof-internals(7) explains how to
 * add one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cprof_importer;
struct cprof_recorder;

/* Where a summary shows a loss that happened; each level includes the ones before it. */
enum cprof_loss_level {
	CPROF_LOSS_ABSENT,   /* cannot happen there: not in JSON, either */
	CPROF_LOSS_VERBOSE,  /* with -v */
	CPROF_LOSS_MANY,     /* without -v when it affects more than 5 % of the samples */
	CPROF_LOSS_SHOWN,    /* always */
	CPROF_LOSS_STRICT,   /* always, and --strict fails */
};

struct cprof_loss {
	const char *key;     /* in JSON */
	const char *words;   /* begin with a plural: "samples lost: the ring was full" */
	const char *advice;  /* shown after the words in summaries; NULL: none */
	const char *record_advice;  /* the same, for recordings only */
	enum cprof_loss_level record, import;
	bool in_comments;    /* also reported in the profile */
};

#define CPROF_LOSSES_MAX 48

struct cprof_losses {
	uint64_t n[CPROF_LOSSES_MAX];  /* by row */
	uint64_t n_samples;            /* in the profiles */
	char lost_advice[128];         /* against lost samples, here; "": that of the rows */
};

/* Row i; NULL after the last one. */
const struct cprof_loss *cprof_loss(size_t i);

/* The row with that key, which must exist. */
size_t cprof_loss_row(const char *key);

/* The losses of all events together.  The row "silent" is left to the caller, who decides which
 * profiles are written. */
void cprof_recorder_losses(struct cprof_recorder *r, struct cprof_losses *ret);
void cprof_importer_losses(struct cprof_importer *m, struct cprof_losses *ret);

#endif
