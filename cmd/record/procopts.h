#ifndef CPROF_CMD_RECORD_PROCOPTS_H
#define CPROF_CMD_RECORD_PROCOPTS_H

/* Processes as targets: the options -p and --children.  Wrong values are reported as by argp_error
 * or argp_failure, which end the program. */

#include <stdbool.h>

struct argp_state;
struct findprocs_ids;

/* Appends the processes of a list of ids and names, separated by commas or white space. */
void procopts_parse(struct findprocs_ids *ids, struct argp_state *state, const char *arg);

/* `-p $(pidof NAME)` makes the second id look like a command, also if options follow: appends a
 * word that is an id if there is one already, and it does not follow "--". */
bool procopts_take_word(struct findprocs_ids *ids, struct argp_state *state, const char *word);

/* Appends all present descendants of the processes in the list. */
void procopts_add_children(struct findprocs_ids *ids, struct argp_state *state);

/* Leaves out processes that have ended and reports them, unless all have: then the recorder says
 * why it cannot record them. */
void procopts_drop_ended(struct findprocs_ids *ids, const struct argp_state *state);

#endif
