#ifndef CPROF_LABELS_GOPIECES_H
#define CPROF_LABELS_GOPIECES_H

/* Many pieces of a program's memory, collected first and then read with one system call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct runtime_memory;

#define GOPIECES_MAX 1000u              /* below IOV_MAX */
#define GOPIECES_BYTES_MAX (512u << 10) /* what a helper passes on at once: remotemem.h */
#define GOPIECES_NONE UINT32_MAX

struct gopieces {                       /* all zero: none */
	uint32_t n, n_bytes;
	struct gopieces_room *room;     /* allocated when first needed */
};

void gopieces_done(struct gopieces *p);
void gopieces_start(struct gopieces *p);

/* The number of the new piece; GOPIECES_NONE: there is no room, or no memory. */
uint32_t gopieces_add(struct gopieces *p, uint64_t at, size_t n_bytes);

/* Reads all; a few that cannot be read do not keep others from being read. */
void gopieces_read(struct gopieces *p, const struct runtime_memory *m);

/* The bytes of piece i; NULL: it could not be read. */
const uint8_t *gopieces_get(const struct gopieces *p, uint32_t i);

#endif
