#ifndef CPROF_BASE_MEMHELPER_H
#define CPROF_BASE_MEMHELPER_H

/*
 * A helper process that reads the memory of other processes, with a deadline.  The first read
 * starts it, and it stays until it gets stuck; the next read then starts another one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MEMHELPER_PIECES_MAX 1024u     /* on each side: IOV_MAX */

struct memhelper;

/* The remote pieces are read one after the other into the local ones. */
struct memhelper_pieces {
	const struct iovec *local, *remote;
	size_t n_local, n_remote;
};

/* proc_fd: /proc, borrowed.  NULL: out of memory. */
struct memhelper *memhelper_new(int proc_fd);
void memhelper_free(struct memhelper *h);

/*
 * Reads by process_vm_readv(2), or by /proc/ID/mem.  id: a process or a thread.  Returns the bytes
 * up to the first that cannot be read, or -errno; -ETIMEDOUT: the helper is stuck.
 */
long memhelper_read(struct memhelper *h, uint32_t id, bool by_file,
		    const struct memhelper_pieces *p);

#endif
