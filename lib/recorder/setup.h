#ifndef CPROF_RECORDER_SETUP_H
#define CPROF_RECORDER_SETUP_H

/* From a configuration to opened events: what is checked, chosen and said before recording. */

struct cprof_config;
struct cprof_recorder;
struct err;

/* Fills r's host, events, scope and source from r->config.  -errno with e set; what was set up so
 * far is cleaned up by cprof_recorder_free. */
int setup_recorder(struct cprof_recorder *r, struct err *e);

/* The built-in labels that may be left out where they tell no samples apart (bits). */
unsigned setup_optional_labels(const struct cprof_config *c);

#endif
