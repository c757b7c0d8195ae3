#ifndef CPROF_RECORDER_KINDS_ALLOCEMPTY_H
#define CPROF_RECORDER_KINDS_ALLOCEMPTY_H

/* Why a profile of memory has no samples. */

#include <stdbool.h>

struct cprof_config;
struct err;
struct host;
struct kind_alloc;

/* Running processes, of which none can be recorded: sets e, with a hint what to do, and returns
 * -ENOENT. */
int allocempty_no_process(const struct host *h, const struct cprof_config *c, struct err *e);

/* Sets e to the likeliest reason, with a hint what to do, and returns -ENODATA.  command_file: that
 * of the command, as execvp(3) has it; NULL: there is none.  has_probes: probes of the processes
 * were recorded, too. */
int allocempty_why(const struct kind_alloc *a, const char *command_file, bool has_probes,
		   struct err *e);

#endif
