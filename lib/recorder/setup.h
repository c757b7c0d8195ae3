#ifndef CPROF_RECORDER_SETUP_H
#define CPROF_RECORDER_SETUP_H

/* From a configuration to an open session: what is common to all kinds of recorders. */

struct cprof_config;
struct cprof_recorder;
struct err;

/* Sets r->session and r->event up from r->config.  -errno with e set; cprof_recorder_free cleans up
 * in any case. */
int setup_recorder(struct cprof_recorder *r, struct err *e);

/* The built-in labels that may be left out where they tell no samples apart (bits). */
unsigned setup_optional_labels(const struct cprof_config *c);

#endif
