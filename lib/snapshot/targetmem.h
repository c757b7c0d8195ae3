#ifndef CPROF_SNAPSHOT_TARGETMEM_H
#define CPROF_SNAPSHOT_TARGETMEM_H

/*
 * Reads many pieces of a process's memory with few system calls, while the process goes on.
 *
 * Only anonymous memory that is present or swapped out is read: a page of a file may have to come
 * from a server or a daemon (FUSE), and a page that nobody has touched from another thread of the
 * target (userfaultfd), either of which may never answer.  Stacks are neither.  A program that
 * changes its memory at the wrong moment is left to base/remotemem.h, as are other users' programs:
 * to ask which pages exist takes the lock of their memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct host;
struct record;
struct remotemem;

struct targetmem_range { uint64_t start, end; };

struct targetmem {
	uint32_t pid;
	struct remotemem *remote;       /* borrowed */
	int pagemap_fd;                 /* -1: unknown which pages are present */
	VEC(struct targetmem_range) anonymous;  /* in order, as in /proc/PID/maps */
};

struct targetmem_piece {
	uint64_t address;
	void *to;
	uint32_t n_bytes;
	uint32_t n_read;                /* out: the beginning that could be read */
};

/* tid: a living thread of the process. */
void targetmem_open(struct targetmem *m, const struct host *h, uint32_t pid, uint32_t tid);
void targetmem_close(struct targetmem *m);

/* An MMAP2 record of the process: may be read if it is anonymous and readable.  In the order of
 * addresses; false: no memory. */
bool targetmem_add(struct targetmem *m, const struct record *map);

/* Reads all pieces.  0, or -errno if nothing can be read at all (-ESRCH, -EPERM, -ETIMEDOUT). */
int targetmem_read(struct targetmem *m, struct targetmem_piece *piece, size_t n);

#endif
