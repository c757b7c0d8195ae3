#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_INPUT_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_INPUT_H

/*
 * Bytes of which one record after the other is taken: a file that is mapped, a stream that is read
 * into chunks, or chunks that are filled with unpacked data.  A record lies in one piece, and stays
 * where it is as long as somebody holds its chunk (or, in a mapped file, always).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct perfdata_chunk {
	uint32_t n_refs;
	size_t n_bytes;
	size_t *n_held_bytes;   /* of all chunks of this input */
	uint64_t data[];        /* aligned for records */
};

struct perfdata_input {
	const uint8_t *p, *end; /* at hand */
	uint64_t offset;        /* of p in the whole */
	/* a mapped file */
	uint8_t *map;           /* NULL: chunks */
	size_t n_map, n_released, n_touched;
	/* chunks */
	struct perfdata_chunk *chunk;
	size_t n_held_bytes;
	int fd;                 /* to read from; -1: filled by perfdata_input_room */
};

/* Maps a regular file, or reads fd as a stream from where it stands.  -errno with e. */
int perfdata_input_open(struct perfdata_input *in, int fd, struct err *e);
/* An input that is filled by perfdata_input_room and perfdata_input_wrote. */
void perfdata_input_init(struct perfdata_input *in);
void perfdata_input_done(struct perfdata_input *in);

/* 1 when n bytes are at hand in one piece, 0 when there are not so many (any more); -errno. */
int perfdata_input_need(struct perfdata_input *in, size_t n_bytes);

static inline void perfdata_input_take(struct perfdata_input *in, size_t n_bytes)
{
	in->p += n_bytes;
	in->offset += n_bytes;
}

/* Leaves out bytes that need not be at hand; 0 when there are fewer, else 1; -errno. */
int perfdata_input_skip(struct perfdata_input *in, uint64_t n_bytes);

/* Room to fill behind what is at hand, at least 64 KiB; NULL when memory is out. */
uint8_t *perfdata_input_room(struct perfdata_input *in, size_t *ret_n_bytes);
void perfdata_input_wrote(struct perfdata_input *in, size_t n_bytes);

/* Has so much been taken since the last release that it is worth one? */
bool perfdata_input_may_release(const struct perfdata_input *in);
/* Nothing of a mapped file before `at` is needed any more. */
void perfdata_input_release(struct perfdata_input *in, const uint8_t *at);

/* A record of n bytes was looked at: of a mapped file, pages are given back from time to time, also
 * of what waits; they come back when it is looked at again. */
void perfdata_input_touch(struct perfdata_input *in, size_t n_bytes);

void perfdata_chunk_hold(struct perfdata_chunk *c);
void perfdata_chunk_drop(struct perfdata_chunk *c);

#endif
