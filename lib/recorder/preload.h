#ifndef CPROF_RECORDER_PRELOAD_H
#define CPROF_RECORDER_PRELOAD_H

/* What a command is started with so that its allocations can be recorded (cprof.h). */

#include "source/allocring.h"

#define PRELOAD_VARIABLES 2u

struct cprof_preload {
	struct allocring ring;         /* that all processes of the command write to */
	char *variable[PRELOAD_VARIABLES]; /* "NAME=value" */
};

#endif
