#ifndef CPROF_PROTO_PPROF_MESSAGE_H
#define CPROF_PROTO_PPROF_MESSAGE_H

/* Part of the reader of profiles: the messages that stand directly in a Profile. */

#include "proto/pprof-field.h"

/*
 * Each reads the message in `body` as number i of its kind, into the arrays of the reader's
 * profile, which have room.  What it refers to must have been read before: strings by all,
 * mappings and functions by locations, locations and the number of sample types by samples.
 * 0 or a negative errno with the reader's `e` set.
 */
typedef int pprof_message_fn(struct pprof_reader *r, struct bytes body, size_t i);

pprof_message_fn pprof_message_string;
pprof_message_fn pprof_message_sample_type;
pprof_message_fn pprof_message_period_type;
pprof_message_fn pprof_message_mapping;
pprof_message_fn pprof_message_function;
pprof_message_fn pprof_message_location;
pprof_message_fn pprof_message_sample;

/* One label of a sample; *l is zeroed. */
struct profile_label;
int pprof_message_label(struct pprof_reader *r, struct bytes body, struct profile_label *l);

/* All of r->all but the samples, which are only counted; r->p is the result. */
int pprof_read_head(struct pprof_reader *r);

/* A whole file; the caller frees *ret_data. */
int pprof_read_whole(const char *path, uint8_t **ret_data, size_t *ret_n);

#endif
