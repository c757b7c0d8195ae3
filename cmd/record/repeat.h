#ifndef CPROF_CMD_RECORD_REPEAT_H
#define CPROF_CMD_RECORD_REPEAT_H

/* Several recordings of one command: their sum, and how much they differ (--repeat). */

struct err;
struct recordopts;

/* Records once with o and frees its contents; returns an exit status. */
typedef int repeat_once_fn(struct recordopts *o);

/*
 * Calls `once` o->repeat times, each time in a child process, and as often for the command of
 * o->against, in turns.  Merges the profiles into o->output (default cprof.repeat.pb.gz) and the
 * other command's file, and prints each function's share with its spread over the runs.
 * Returns the first exit status of a run that is not 0, or CMD_FAILED with a message.  A run
 * without a profile ends everything, and no file is written.
 */
int repeat_run(struct recordopts *o, repeat_once_fn *once);

#endif
