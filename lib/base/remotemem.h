#ifndef CPROF_BASE_REMOTEMEM_H
#define CPROF_BASE_REMOTEMEM_H

/*
 * Reads the memory of other processes, and files that they can hold back, with a deadline.
 *
 * A page may belong to a file whose file system never answers (FUSE needs no privileges), or to a
 * process that handles its own page faults (userfaultfd(2)).  A thread that reads such a page
 * waits, and SIGKILL cannot end it.  So a program could stop the profiler that looks at it for
 * ever.
 *
 * The files of /proc that need the lock of its memory are no better: a program can hold that lock
 * while mmap(2) waits for such a file system.
 *
 * And so is what needs the lock that a process holds while it executes another program
 * (exec_update_lock of the kernel): then it closes files, and waits for such a file system.
 * Reading memory takes this lock, and so do opening an event on a thread, many files of
 * /proc/PID (maps, syscall, io; with some kernels also stat, wchan) and the links in it (map_files;
 * with some kernels also exe, root, ns, fd).  Others do not: status, comm, cgroup, schedstat,
 * sched, uid_map, task and its children.
 *
 * Memory is therefore read by a helper process, unless the other process may do with us what it
 * likes anyway: it has our user and our namespaces, or we have no right to read what others own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct log;
struct memhelper_event;
struct remotemem;

/* What could not be read because there was no answer in time. */
struct remotemem_stats {
	uint32_t n_stuck;       /* processes: their memory is not read again */
	uint32_t n_refused;     /* reads since there are too many of them */
};

/* proc_fd: /proc, borrowed.  NULL: out of memory; then every read fails with -ENOMEM. */
struct remotemem *remotemem_new(int proc_fd);
void remotemem_free(struct remotemem *m);

/*
 * As process_vm_readv(2): reads the remote pieces, at most IOV_MAX, one after the other into the
 * local ones.  Returns the number of bytes up to the first that cannot be read, or
 * -errno; -ETIMEDOUT: there was no answer in time, now or before.
 */
long remotemem_read(struct remotemem *m, uint32_t pid, const struct iovec *local, size_t n_local,
		    const struct iovec *remote, size_t n_remote);

/* The same by /proc/TID/mem, which shows pages without the right to read, too.  tid: a process, or
 * one of its threads. */
long remotemem_read_file(struct remotemem *m, uint32_t tid, void *buf, size_t n_bytes,
			 uint64_t address);

/* Does not ask a process, or that of a thread, again: it did not answer to somebody else. */
void remotemem_give_up(struct remotemem *m, uint32_t id);
bool remotemem_is_given_up(struct remotemem *m, uint32_t id);

/* Is the process, or that of a thread, read without a helper? */
bool remotemem_is_direct(struct remotemem *m, uint32_t id);

/*
 * If not: the next part of the text /proc/ID/NAME, from its start if is_first: *ret_text borrows it
 * until the next call.  Returns its bytes, 0 at the end, or -errno; -ETIMEDOUT as above.  Only one
 * thread may read texts.
 */
long remotemem_read_text(struct remotemem *m, uint32_t id, const char *name, bool is_first,
			 const char **ret_text);

/* The same for the text of a link, which has no NUL. */
long remotemem_read_link(struct remotemem *m, uint32_t id, const char *name, const char **ret_text);

/* If not: opens what the link /proc/ID/NAME leads to, with O_PATH.  A descriptor or -errno;
 * -ETIMEDOUT as above. */
int remotemem_open_link(struct remotemem *m, uint32_t id, const char *name);

/* If not: opens an event on a thread (memhelper.h).  A descriptor or -errno; -ETIMEDOUT as
 * above. */
int remotemem_open_event(struct remotemem *m, const struct memhelper_event *ev);

/* Names the stuck ones. */
void remotemem_explain(const struct remotemem *m, const struct log *log);

struct remotemem_stats remotemem_stats(const struct remotemem *m);

#endif
