#ifndef CPROF_CMD_SERVE_SERVE_JOB_H
#define CPROF_CMD_SERVE_SERVE_JOB_H

/*
 * A recording in a process of its own: the server's program again, with the rights of the client,
 * and without the server's connections.  Two descriptors lead to it:
 *  - SERVE_JOB_CONTROL, a socket of packets: commands to it, struct serve_note from it
 *  - SERVE_JOB_DATA, a pipe: for each part of the recording a struct serve_frame and its profile.
 * The end of its control socket ends the process.  What it sends is foreign to the server, because
 * the client's other processes may trace it.
 */

#include <stdint.h>

#include "base/err.h"

#define SERVE_JOB_CONTROL 3
#define SERVE_JOB_DATA 4

/* The arguments of the program.  A list of ids, separated by commas; "": all processes. */
enum {
	SERVE_JOB_MARK = 1, SERVE_JOB_WHAT, SERVE_JOB_EVENT, SERVE_JOB_RATE, SERVE_JOB_RATE_KIND,
	SERVE_JOB_DEBUG, SERVE_JOB_PIDS, SERVE_JOB_N_ARGS,
};
#define SERVE_JOB_MARK_TEXT ":record"   /* no option begins so */

/* Commands, one byte each. */
#define SERVE_JOB_CUT 'c'               /* end the part, and begin the next one */
#define SERVE_JOB_STOP 's'              /* end the last part */

enum serve_note_kind { SERVE_NOTE_BEGAN = 1, SERVE_NOTE_CUT, SERVE_NOTE_FAILED };

struct serve_note {
	uint32_t kind;                  /* enum serve_note_kind */
	struct err why;                 /* SERVE_NOTE_FAILED */
};

struct serve_frame {
	uint64_t n_bytes;               /* that follow */
	uint64_t n_samples, n_lost;
	uint64_t cpu_ns;                /* of the recording so far, and of writing this part */
};

/* The process; returns its exit status. */
int serve_job_main(char **argv);

#endif
