#ifndef CPROF_CMD_PUSH_LABELS_H
#define CPROF_CMD_PUSH_LABELS_H

/* From the labels in the spool to those that a server takes. */

#include "base/vec.h"
#include "cmd/agent/keyvalue.h"
#include "cmd/push/push-format.h"
#include "proto/otlp.h"

#include <stdbool.h>

/* Pyroscope takes 30 names, with __name__, and values of 2048 bytes. */
#define PUSH_LABELS_MAX 29u
#define PUSH_LABEL_NAME_MAX 128u
#define PUSH_LABEL_VALUE_MAX 1024u

struct push_labels {
	VEC(struct otlp_attribute) label;   /* each name once; values of valid UTF-8 */
	struct arena_block *arena;
};

/*
 * Makes the labels of a profile, from the keys "label.*" and "sample_type" of its .meta and from
 * `extra`, which come first.  There is always a service_name.
 *  - For Pyroscope and Parca names consist of [a-zA-Z0-9_], "host" is "hostname", and __name__
 *    is the kind of profile.
 *  - For OTLP they are attributes of a resource by OpenTelemetry's conventions.
 * False if out of memory.
 */
bool push_labels_make(const struct keyvalues *meta, const struct keyvalue *extra, size_t n_extra,
		      enum push_format format, struct push_labels *ret);
void push_labels_done(struct push_labels *l);

#endif
