#ifndef CPROF_CMD_RECORD_RECORDLOOP_H
#define CPROF_CMD_RECORD_RECORDLOOP_H

/* What happens while cprof record records: signals, control commands, parts, the end. */

struct recording;
struct err;

/* Records until it is told to end, by whatever it may be.  -errno with e set. */
int recordloop_run(struct recording *rec, struct err *e);

#endif
