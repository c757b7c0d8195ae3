#ifndef CPROF_CMD_RECORD_RECORDFILES_H
#define CPROF_CMD_RECORD_RECORDFILES_H

/* The files of one recording, one per event.  Either all of them appear or none. */

#include <stdbool.h>
#include <stddef.h>

#include "cmd/filemode.h"
#include "cmd/output.h"
#include "cmd/record/summary.h"

struct cprof_recorder;
struct err;

struct recordfiles {
	struct output *output;         /* per event */
	const struct outfile **unfinished; /* for signals_abort_on */
	struct summary_file *file;     /* per event: what was written */
	size_t n_events, n_written;
	struct filemode mode;          /* --mode */
	bool is_part;                  /* no message about events without samples at all */
};

/* Opens one file per event of the recorder; name and stamp as for output_open(). */
int recordfiles_open(struct recordfiles *f, struct cprof_recorder *recorder, const char *name,
		     const char *stamp, struct err *e);

/*
 * Writes the events that have samples, and reports each event that has none.  An event that did not
 * happen is only worth a warning if others did.  Any other reason is a failure: the other events
 * are written, and the result is -ENODATA, with *e empty if everything is reported.
 */
int recordfiles_write(struct recordfiles *f, struct cprof_recorder *recorder, struct err *e);

/* Removes unfinished files. */
void recordfiles_discard(struct recordfiles *f);
void recordfiles_done(struct recordfiles *f);

#endif
