#ifndef CPROF_VIEW_MODEL_WAITING_H
#define CPROF_VIEW_MODEL_WAITING_H

/*
 * Waits in a profile of cprof, by its labels (cprof-waiting(7)): which samples are waits, and which
 * of these are idle.  Profiles of other tools have none.
 */

#include "view/model/model.h"

/* As bits. */
enum waiting_set {
	WAITING_IN_CALL = 1,   /* a wait, or its end: its innermost frames only wait */
	WAITING_IDLE = 2,      /* of a thread that has nothing to do */
};

/* By label set: enum waiting_set bits; NULL if none has any.  -ENOMEM. */
int waiting_sets(const struct model *m, unsigned char **ret);

/* Does this code only wait on behalf of its caller? */
bool waiting_is_call(const struct model *m, const struct model_location *l);

/* By stack: how many of its innermost locations only wait on behalf of their caller; 0 if all do.
 * The caller frees it.  NULL: out of memory. */
uint32_t *waiting_calls(const struct model *m);

/* Is this sample type thread time, which exceeds the duration, under the names of any tool? */
bool waiting_is_thread_time(const struct model *m, uint32_t type);

#endif
