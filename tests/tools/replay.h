#ifndef CPROF_TESTS_TOOLS_REPLAY_H
#define CPROF_TESTS_TOOLS_REPLAY_H

/*
 * A recorded byte stream as a source, for golden tests and fuzzing: the output of merged rings,
 * with the facts needed to decode it.
 *
 * Layout, in the byte order of the machine that wrote it: struct replay_header, n_events struct
 * replay_event, then raw records one after the other (each with the length given by its
 * perf_event_header.size, padded to 8 bytes).
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "source/source.h"

struct record_format;

#define REPLAY_MAGIC "cprofrec"

struct replay_header {
	char magic[8];
	uint32_t version;          /* REPLAY_VERSION */
	uint32_t n_events;
	uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr;
	uint32_t sample_id_all, n_cpus;
	char kernel_release[64], arch[64], hostname[64];
};

struct replay_event {
	char name[64];             /* in perf's spelling */
	uint64_t id;               /* as in its samples */
	uint32_t event, is_clock;  /* index; 1: values are nanoseconds */
};

#define REPLAY_VERSION 1u
#define REPLAY_EVENTS_MAX 65536u

/* Opens a stream in memory, aligned to 8 bytes; data is borrowed until source_close.  -EINVAL with
 * e set if it is not such a stream, -ENOMEM.  source_next returns -EINVAL, repeatedly, where the
 * stream is truncated or a record has an impossible size.  Records are delivered in the stream's
 * order, and counted if that is not the order of time. */
int replay_open_memory(const void *data, size_t n_bytes, struct source **ret_source, struct err *e);

/* The events of an open replay source; several may share an index (one id per CPU).
 * Borrowed until source_close. */
const struct replay_event *replay_events(const struct source *s, uint32_t *ret_n);

/* Writes the start of a stream; raw records are then appended with fwrite.
 * -EIO or the errno of the write, with e set. */
int replay_write_header(FILE *f, const struct record_format *format,
			const struct source_facts *facts, const struct replay_event *events,
			uint32_t n_events, struct err *e);

#endif
