#ifndef CPROF_EVENT_RECFORMAT_H
#define CPROF_EVENT_RECFORMAT_H

/* How an event's attr lays out its records: made by evattr_format, read by record_decode. */

#include <stdbool.h>
#include <stdint.h>

/* The parts of an event's attr that determine the layout. */
struct record_format {
	uint64_t sample_type;       /* PERF_SAMPLE_* */
	uint64_t read_format;       /* PERF_FORMAT_* */
	uint64_t branch_sample_type;/* PERF_SAMPLE_BRANCH_*: HW_INDEX and COUNTERS add fields */
	uint64_t sample_regs_user;  /* masks: a register's value is there per set bit */
	uint64_t sample_regs_intr;
	bool sample_id_all;         /* non-sample records end with the sample id fields */
};

#endif
