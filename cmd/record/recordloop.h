#ifndef CPROF_CMD_RECORD_RECORDLOOP_H
#define CPROF_CMD_RECORD_RECORDLOOP_H

/* The main loop of cprof record: signals, control commands, parts, the end. */

struct recording;
struct err;

/* Records until the target, a signal, a command or the time limit ends it.  -errno with e set. */
int recordloop_run(struct recording *rec, struct err *e);

#endif
