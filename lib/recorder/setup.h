#ifndef CPROF_RECORDER_SETUP_H
#define CPROF_RECORDER_SETUP_H

/* From a configuration to an open session: what all kinds of recorders have in common. */

struct cprof_config;
struct cprof_recorder;
struct err;

/* Sets up rec->session from rec->config.  -errno with e set; cprof_recorder_free cleans up in any
 * case. */
int setup_recorder(struct cprof_recorder *rec, struct err *e);

/* Built-in labels (bits) that are left out if all samples have the same value. */
unsigned setup_optional_labels(const struct cprof_config *c);

#endif
