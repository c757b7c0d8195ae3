#ifndef CPROF_CMD_RECORD_PARTWRITER_H
#define CPROF_CMD_RECORD_PARTWRITER_H

/*
 * Profiles that are written while recording goes on: snapshots and rotated files.  A child process
 * writes them from its copy of what was recorded so far, so that the reader of the rings does not
 * wait for names and files.  One child at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct cprof_recorder;
struct err;

struct partwriter_names {
	char *text;                    /* paths, each with a NUL at its end */
	size_t n_bytes;
};

struct partwriter {
	const char *output;            /* -o; borrowed */
	size_t max_kept;               /* --switch-max-files; 0: all */
	bool quiet;
	bool json;                     /* each part has its summary on stdout, a line of its own */
	bool strict;                   /* parts with losses are counted and told */
	pid_t pid;                     /* of the child that writes; 0: none */
	int fd;                        /* becomes readable when it tells, or has ended; -1 */
	VEC(char) told;                /* the names of its files, as far as they have come */
	uint64_t last_stamp;
	size_t n_written, n_failed, n_with_losses;
	VEC(struct partwriter_names) kept;  /* oldest first */
};

/* Begins to write what the recorder has, after cprof_recorder_snapshot, to stamped names.  None may
 * be under way.  -errno with e set. */
int partwriter_begin(struct partwriter *p, struct cprof_recorder *r, struct err *e);

/* Takes note of what the child has told; with wait until its end.  True when it has ended. */
bool partwriter_poll(struct partwriter *p, bool wait);

/* Makes the next stamp, for a file that is written by other means ... */
const char *partwriter_stamp(struct partwriter *p, char *buf);
/* ... and tells the names of its files: the oldest part goes if it is one too many. */
void partwriter_keep(struct partwriter *p, const char *names, size_t n_bytes);

void partwriter_done(struct partwriter *p);

#endif
