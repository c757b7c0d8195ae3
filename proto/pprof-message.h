#ifndef CPROF_PROTO_PPROF_MESSAGE_H
#define CPROF_PROTO_PPROF_MESSAGE_H

/* Part of the profile reader: the messages directly inside a Profile. */

#include "proto/pprof-field.h"

/*
 * Each reads the message in `body` as number i of its kind into the arrays of the reader's profile,
 * which are large enough.  Messages that it refers to must have been read before: strings for all,
 * mappings and functions for locations, locations and the number of sample types for samples.  0,
 * or -errno with the reader's `e` set.
 */
typedef int pprof_message_fn(struct pprof_reader *reader, struct bytes body, size_t i);

pprof_message_fn pprof_message_string;
pprof_message_fn pprof_message_sample_type;
pprof_message_fn pprof_message_period_type;
pprof_message_fn pprof_message_mapping;
pprof_message_fn pprof_message_function;
pprof_message_fn pprof_message_location;
pprof_message_fn pprof_message_sample;

/* pprof-tables.c: the same into reader->tables. */
pprof_message_fn pprof_tables_string;
pprof_message_fn pprof_tables_function;
pprof_message_fn pprof_tables_location;

/* One label of a sample; *l is zero. */
struct profile_label;
int pprof_message_label(struct pprof_reader *reader, struct bytes body, struct profile_label *l);

/* Reads all of reader->all except samples, which are only counted, into reader->p; with
 * reader->tables, functions, locations and the array of strings are there instead. */
int pprof_read_head(struct pprof_reader *reader);

#endif
