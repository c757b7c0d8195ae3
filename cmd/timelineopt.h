#ifndef CPROF_CMD_TIMELINEOPT_H
#define CPROF_CMD_TIMELINEOPT_H

/* --timeline of the commands that make profiles: the row of their option tables, and its value,
 * which ends the program with argp_error if it is wrong. */

#include "cmd/optparse.h"

#include <stdint.h>

#define TIMELINEOPT_KEY 903

/* Of the narrowest steps: 600 of the default width are 12 seconds, after which steps are wider. */
#define TIMELINEOPT_DEFAULT_NS UINT64_C(20000000)
#define TIMELINEOPT_MIN_NS UINT64_C(1000000)

#define TIMELINEOPT_ROW(group) \
	{ "timeline", TIMELINEOPT_KEY, "TIME", OPTION_ARG_OPTIONAL, \
	  "Label samples with their time, in steps of TIME (20ms), or wider ones after 600", group }

/* In nanoseconds. */
static inline uint64_t timelineopt_parse(struct argp_state *state, const char *arg)
{
	return arg ? optparse_time(state, "--timeline", arg, TIMELINEOPT_MIN_NS, UINT64_MAX)
		   : TIMELINEOPT_DEFAULT_NS;
}

#endif
