#ifndef CPROF_BASE_MEMHELPER_H
#define CPROF_BASE_MEMHELPER_H

/*
 * A helper process that reads the memory of other processes and those files of /proc that need one
 * of their locks, and opens events on them, with a deadline.  The first request starts it, and it
 * stays until it gets stuck; the next one then starts another helper.
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

/*
 * Reads the next part of a text of /proc, from its start if is_first: at most 1 MiB, which
 * *ret_text borrows until the next call.  Returns the number of bytes, 0 at its end, or -errno;
 * -ETIMEDOUT as above.  path: relative to /proc, shorter than MEMHELPER_PATH_BYTES.
 */
#define MEMHELPER_PATH_BYTES 64u
long memhelper_text(struct memhelper *h, const char *path, bool is_first, const char **ret_text);

/* The same for the text of a link. */
long memhelper_read_link(struct memhelper *h, const char *path, const char **ret_text);

/* Opens what a link of /proc leads to, with O_PATH.  A descriptor or -errno; -ETIMEDOUT as
 * above. */
int memhelper_link(struct memhelper *h, const char *path);

/* The arguments of perf_event_open(2). */
struct memhelper_event {
	void *attr;                     /* the kernel may write its size into it */
	size_t n_attr_bytes;
	uint32_t tid;
	int cpu, group_fd;
	unsigned long flags;
};

/* A descriptor (O_CLOEXEC) or -errno; -ETIMEDOUT as above, but after a second. */
int memhelper_event(struct memhelper *h, const struct memhelper_event *ev);

#endif
