#ifndef CPROF_CMD_RECORD_PARTOPTS_H
#define CPROF_CMD_RECORD_PARTOPTS_H

/* Options of cprof record that control a running recording and write parts of it. */

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "cmd/record/control.h"
#include "cmd/record/rotate.h"
#include "cmd/record/trigger.h"

struct partopts {
	bool has_control;
	struct control_place control;
	int signal;                    /* requests a snapshot or the next file; 0: none */
	struct rotate_spec rotate;
	uint64_t last_ns;              /* keep only this much time; 0: all */
	struct trigger trigger;
	size_t max_files;              /* 0: all */
};

/* An argp child with a struct partopts as input. */
extern const struct argp partopts_argp;

void partopts_done(struct partopts *o);

#endif
