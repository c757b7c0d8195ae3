#ifndef CPROF_RECORDER_KINDS_TARGETSWITCH_H
#define CPROF_RECORDER_KINDS_TARGETSWITCH_H

#include <stdbool.h>

struct cprof_config;
struct host;

/* Does the command's file, or that of a process to be recorded, belong to a runtime that switches
 * stacks?  For events that cannot be reopened once a sample shows it. */
bool targetswitch_any(const struct host *h, const struct cprof_config *c);

#endif
