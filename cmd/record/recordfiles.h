#ifndef CPROF_CMD_RECORD_RECORDFILES_H
#define CPROF_CMD_RECORD_RECORDFILES_H

/* The files of one profile, one for each event: all of them or none. */

#include <stdbool.h>
#include <stddef.h>

#include "cmd/output.h"
#include "cmd/record/summary.h"

struct cprof_recorder;
struct err;

struct recordfiles {
	struct output *output;         /* per event */
	char **unfinished;             /* their temporary names, for signals_abort_on */
	struct summary_file *file;     /* per event: what was written */
	size_t n_events, n_written;
	bool quiet;                    /* no word about events that did not happen */
	bool is_part;                  /* and none about those without samples */
};

/* Opens the files of a recorder's events; name and stamp as for output_open. */
int recordfiles_open(struct recordfiles *f, struct cprof_recorder *r, const char *name,
		     const char *stamp, struct err *e);

/*
 * Writes the events that have samples.  Each that has none is told by itself: one that did not
 * happen, among others that did, is only worth a word; all else is a failure (-ENODATA, with
 * *e empty if all is said), though the others are written.
 */
int recordfiles_write(struct recordfiles *f, struct cprof_recorder *r, struct err *e);

/* Removes what is not finished. */
void recordfiles_discard(struct recordfiles *f);
void recordfiles_done(struct recordfiles *f);

#endif
