#ifndef CPROF_CMD_RECORD_REPEAT_H
#define CPROF_CMD_RECORD_REPEAT_H

/* Several recordings of one command, added up, and how much they differ (--repeat). */

struct err;
struct recordopts;

/* Records once with o; returns an exit status, and ends what o holds. */
typedef int repeat_once_fn(struct recordopts *o);

/*
 * Calls once o->repeat times, each time in a child process.  Their profiles are merged into
 * o->output (default cprof.repeat.pb.gz), and each function's share is printed with its
 * spread over the runs.  Returns the exit status: the first of a run that is not 0, or
 * CMD_FAILED with a message.  A run that leaves no profile ends it all, without a file.
 */
int repeat_run(struct recordopts *o, repeat_once_fn *once);

#endif
