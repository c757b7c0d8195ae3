#ifndef CPROF_LABELS_PROBEARGS_H
#define CPROF_LABELS_PROBEARGS_H

/* The arguments of a USDT probe in the registers and the stack copy of its sample. */

#include <stdbool.h>
#include <stdint.h>

#include "event/evusdt.h"

struct record_sample;

#define PROBEARGS_TEXT_MAX 24

/* A value beyond this is no amount, but perhaps an address. */
#define PROBEARGS_VALUE_MAX (UINT64_C(1) << 53)

struct probeargs {
	/* One of the arguments is not in the sample, or the value is negative or too large. */
	bool is_unknown;
	uint64_t value;         /* how much the sample counts: 1 without a value, 0 if unknown */
	unsigned n_labels;      /* those that are known: */
	const char *key[EVUSDT_LABELS_MAX];     /* borrowed from the event */
	char text[EVUSDT_LABELS_MAX][PROBEARGS_TEXT_MAX];       /* decimal numbers */
};

/* One argument; sp: perf's number of the stack pointer.  False: it is not in the sample. */
bool probeargs_arg(const struct evarg *a, uint8_t sp, const struct record_sample *s, uint64_t *ret);

void probeargs_read(const struct evusdt_args *a, const struct record_sample *s,
		    struct probeargs *ret);

#endif
