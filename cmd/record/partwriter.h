#ifndef CPROF_CMD_RECORD_PARTWRITER_H
#define CPROF_CMD_RECORD_PARTWRITER_H

/*
 * Profiles that are written during the recording: snapshots and rotated files.  A child process
 * writes its copy of everything recorded so far, so that the reader of the rings need not wait for
 * names and files.  There is one child at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/realtime.h"

struct cprof_recorder;
struct err;

struct partwriter_names {
	char *text;                    /* paths, each with a NUL at its end */
	size_t n_bytes;
};

struct partwriter {
	const char *output;            /* -o; borrowed */
	struct filemode mode;          /* --mode */
	size_t max_kept;               /* --switch-max-files; 0: all */
	bool quiet;
	bool json;                     /* print the summary of each part on stdout, one per line */
	bool strict;                   /* count parts with losses */
	const struct realtime *realtime;
	pid_t pid;                     /* of the child that writes; 0: none */
	struct cprof_recorder *recorder;    /* of the child's copy; borrowed */
	int names_fd;                  /* the child's names (childnames.h); -1 */
	int fd;                        /* readable when the child reports files or ends; -1 */
	VEC(char) reported;            /* the names of its files received so far */
	uint64_t last_stamp;
	size_t n_written, n_failed, n_with_losses;
	VEC(struct partwriter_names) kept;  /* oldest first */
};

/* Starts writing the recorder's data, after cprof_recorder_snapshot, to stamped names.  No other
 * part may be in progress.  -errno with e set. */
int partwriter_begin(struct partwriter *p, struct cprof_recorder *recorder, struct err *e);

/* Receives the child's reports; with wait, until its end.  True when it has ended. */
bool partwriter_poll(struct partwriter *p, bool wait);

/* Makes the stamp of the recorder's profile, by the time at which that ends. */
void partwriter_stamp(struct partwriter *p, struct cprof_recorder *r, char *ret);

/* Registers the files of a part.  Removes the oldest part if there are too many. */
void partwriter_keep(struct partwriter *p, const char *names, size_t n_bytes);

void partwriter_done(struct partwriter *p);

#endif
