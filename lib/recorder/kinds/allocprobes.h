#ifndef CPROF_RECORDER_KINDS_ALLOCPROBES_H
#define CPROF_RECORDER_KINDS_ALLOCPROBES_H

/*
 * Samples of the USDT probes otel_memory:alloc(address, size, weight) and otel_memory:free(address)
 * of running programs: allocators fire them for sampled blocks only.  weight is in bytes, and what
 * the sample stands for.
 */

#include <stdbool.h>

struct engine;
struct err;
struct kind_session;
struct probefiles_file;
struct record;

/* In the grammar of events; the first one has a value. */
#define ALLOCPROBES_EVENTS                                                                      \
	"usdt:otel_memory:alloc/value=arg3,unit=bytes,label=address:arg1,label=size:arg2,"       \
	"period=1/,usdt:otel_memory:free/label=address:arg1,period=1/"

/* Are there running processes to search, and does this kernel have probes? */
bool allocprobes_possible(const struct kind_session *k);

/* libcprof-alloc.so has these probes for other tools, and rings for cprof. */
bool allocprobes_skips(const struct probefiles_file *file);

/* All events belong to one profile. */
void allocprobes_join(struct kind_session *k);

/* kind_cpu_open; without the right to use probes, without these: state->no_probes says why. */
int allocprobes_open(struct kind_session *k, struct err *e);

/* Are there probes that can be used? */
bool allocprobes_any(const struct kind_session *k);

/* A SAMPLE of the source. */
void allocprobes_take(struct kind_session *k, struct engine *g, const struct record *r);

#endif
