#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_INPUT_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_INPUT_H

/*
 * Bytes that are read record by record: a mapped file, a stream read into chunks, or chunks filled
 * with uncompressed data.  A record is contiguous, and stays in place while its chunk is held (in a
 * mapped file, always).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct mapguard;
struct mapguard_table;

struct perfdata_chunk {
	uint32_t n_refs;
	size_t n_bytes;
	size_t *n_held_bytes;   /* of all chunks of this input */
	uint64_t data[];        /* aligned for records */
};

struct perfdata_input {
	const uint8_t *p, *end; /* available bytes */
	uint64_t offset;        /* of p in the whole input */
	/* a mapped file */
	uint8_t *map;           /* NULL: chunks */
	size_t n_map, n_released, n_touched;
	struct mapguard *guard;
	/* chunks */
	struct perfdata_chunk *chunk;
	size_t n_held_bytes;
	int fd;                 /* to read from; -1: perfdata_input_room fills it */
};

/* Maps a regular file, or reads fd as a stream from its present position.  -errno with e. */
int perfdata_input_open(struct perfdata_input *in, int fd, struct mapguard_table *maps,
			struct err *e);
/* An input that is filled by perfdata_input_room and perfdata_input_wrote. */
void perfdata_input_init(struct perfdata_input *in);
void perfdata_input_done(struct perfdata_input *in);

/* 1: n contiguous bytes are available; 0: there are not so many left; or -errno. */
int perfdata_input_need(struct perfdata_input *in, size_t n_bytes);

static inline void perfdata_input_take(struct perfdata_input *in, size_t n_bytes)
{
	in->p += n_bytes;
	in->offset += n_bytes;
}

/* Skips bytes, which need not be available; 1, 0 if there are fewer, or -errno. */
int perfdata_input_skip(struct perfdata_input *in, uint64_t n_bytes);

/* Room for at least 64 KiB after the available bytes; NULL: out of memory. */
uint8_t *perfdata_input_room(struct perfdata_input *in, size_t *ret_n_bytes);
void perfdata_input_wrote(struct perfdata_input *in, size_t n_bytes);

/* Was enough consumed since the last release to make another one worthwhile? */
bool perfdata_input_may_release(const struct perfdata_input *in);
/* Nothing before `at` in a mapped file is needed any more. */
void perfdata_input_release(struct perfdata_input *in, const uint8_t *at);

/* A record of n bytes was read.  From time to time this returns pages of a mapped file to the
 * kernel, even those of waiting records; they are read again when needed. */
void perfdata_input_touch(struct perfdata_input *in, size_t n_bytes);

void perfdata_chunk_hold(struct perfdata_chunk *c);
void perfdata_chunk_drop(struct perfdata_chunk *c);

#endif
