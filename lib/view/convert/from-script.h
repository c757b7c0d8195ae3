#ifndef CPROF_VIEW_CONVERT_FROM_SCRIPT_H
#define CPROF_VIEW_CONVERT_FROM_SCRIPT_H

/*
 * The text of perf script, in its default fields (and with -F +pid):
 *
 *	COMM TID [CPU] TIME: PERIOD EVENT:
 *		ADDRESS SYMBOL+0xOFFSET (FILE)
 *		...
 *
 * or with the one frame behind EVENT.  CPU and PERIOD may be missing, TID may be PID/TID.  A
 * frame of "(inlined)" belongs to the next one that is not.  What is neither, such as source
 * lines and other records, is passed over.
 *
 * Sample types: samples/count, and for each event its sum of periods (for cpu-clock and task-clock
 * cpu/nanoseconds); the default is the first event, whose largest period is the profile's.  Labels,
 * all text: thread_name, tid, and pid when it is told.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* Does one of the lines begin a sample? */
bool from_script_is(const char *text, size_t n_bytes);

/* text may hold anything and needs no NUL.  -EINVAL: not one sample; -E2BIG: more than 64
 * events; -ENOMEM. */
int from_script_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
