#ifndef CPROF_RECORDER_LOSTADVICE_H
#define CPROF_RECORDER_LOSTADVICE_H

/* What helps against lost samples here: fewer samples of other tasks first, then a larger ring,
 * then a lower rate. */

#include "cprof.h"

struct lostadvice_seen {
	enum cprof_scope scope;
	bool is_command, may_cgroup;   /* a command; it could have a cgroup of its own */
	bool all_processes;
	bool no_bpf;                   /* requested */
	bool may_bpf;                  /* this process may load BPF programs */
	bool is_period;                /* the event has a period, not a frequency */
	uint64_t n_samples, n_foreign; /* of the target; of other tasks, which cprof dropped */
	uint64_t ring_bytes;
	uint64_t fitting_bytes;        /* ring_fitting_bytes in source/ring.h */
};

/* "--scope cgroup, --ring-size 8M, lower -F" */
void lostadvice_text(const struct lostadvice_seen *seen, char *ret, size_t n_bytes);

#endif
