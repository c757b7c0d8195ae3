#ifndef CPROF_VIEW_CONVERT_FROM_SCRIPT_H
#define CPROF_VIEW_CONVERT_FROM_SCRIPT_H

/*
 * The text of perf script, in its default fields (and with -F +pid):
 *
 *	COMM TID [CPU] TIME: PERIOD EVENT:
 *		ADDRESS SYMBOL+0xOFFSET (FILE)
 *		...
 *
 * or with a single frame after EVENT.  CPU and PERIOD may be missing; TID may be PID/TID.  A frame
 * whose file is "(inlined)" belongs to the next frame that is not inlined.  Other lines, such as
 * source lines and other records, are ignored.
 *
 * Sample types: samples/count, and for each event the sum of its periods (cpu/nanoseconds for
 * cpu-clock and task-clock).  The default is the first event; its largest period is that of the
 * profile.  Labels, all text: thread_name, tid, and pid if known.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* True if a line begins a sample. */
bool from_script_is(const char *text, size_t n_bytes);

/* text may hold any bytes and needs no NUL.  -EINVAL: no samples; -E2BIG: more than 64 events;
 * -ENOMEM. */
int from_script_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
