#ifndef CPROF_LABELS_LABELMEM_H
#define CPROF_LABELS_LABELMEM_H

/*
 * Reads what cprof-labels.h keeps in the memory of a process: when each thread changed its labels,
 * and to which set.  The process keeps running, and nothing it contains is trusted without a check:
 * a bad pointer, an endless list or a wrong number costs only the labels of this process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/vec.h"

struct host;
struct idmap;
struct remotemem;

/* Changes of each thread kept until labelmem_drain; more are lost (CPROF_LABELS_RING). */
#define LABELMEM_RING 256u

/* Turns a registry's ticks into ns of CLOCK_MONOTONIC, by pairs taken at each drain. */
struct labelmem_clock {
	struct { uint64_t ticks, ns; } pair[16];  /* oldest first */
	unsigned n;
	bool counter_is_clock; /* the kernel's clock is the counter that programs read */
};

/* As process_vm_readv(2): bytes read, or -errno. */
typedef long labelmem_read_fn(void *ctx, uint32_t pid, const struct iovec *local, size_t n_local,
			      const struct iovec *remote, size_t n_remote);

struct labelmem_thread {
	uint32_t tid;              /* as the process itself sees it; 0: none yet */
	uint64_t born_ticks;
	uint64_t n_read;           /* of its changes */
};

/* One registry: a process has one for each of its programs and libraries that sets labels. */
struct labelmem {
	uint32_t pid;              /* or any living thread of it, whose memory is read */
	uint64_t addr;             /* of the registry */
	struct remotemem *memory;  /* borrowed; how it is read */
	labelmem_read_fn *read;    /* for tests: instead of memory; or NULL */
	void *read_ctx;
	/* private */
	uint32_t clock;            /* enum cprof_labels_clock; 0: not begun yet */
	VEC(struct labelmem_thread) thread;
	VEC(uint64_t) slab;        /* their addresses */
};

enum labelmem_outcome {
	LABELMEM_READ,             /* all changes up to now were read */
	LABELMEM_NOTHING,          /* the program has not set any label yet */
	LABELMEM_BAD,              /* malformed: do not try again */
	LABELMEM_DENIED,           /* this memory may not be read: do not try again */
	LABELMEM_GONE,             /* the process, or its memory, is gone */
};

/* The results of labelmem_drain, in order for each thread. */
struct labelmem_sink {
	/* Thread tid has had set since time_ns.  own_pid: the process's id as it sees it itself. */
	void (*change)(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t time_ns, uint32_t set);
	/* Nothing is known about the thread until its next change. */
	void (*gap)(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t n_changes);
	void *ctx;
};

void labelmem_init(struct labelmem *m, struct remotemem *memory, uint32_t pid, uint64_t addr);
void labelmem_done(struct labelmem *m);

/* Call it once, and again shortly before each labelmem_drain: takes one more pair of times. */
void labelmem_clock_init(struct labelmem_clock *c, const struct host *host);
void labelmem_clock_tick(struct labelmem_clock *c);

/* Reports all changes since the last call.  For a new thread its oldest known change is
 * reported, too. */
enum labelmem_outcome labelmem_drain(struct labelmem *m, const struct labelmem_clock *c,
				     const struct labelmem_sink *sink);

/* Adds the ids of the known threads that may be alive to ret, which must be empty; their values are
 * arbitrary.  False: no memory. */
bool labelmem_list_threads(const struct labelmem *m, struct idmap *ret);

/*
 * The text of a set: *ret_n_labels pairs of key NUL value NUL, checked.  Returns the number of
 * bytes in buf, 0 for the empty set, or -EINVAL or -EFAULT if there is no such set.
 */
#define LABELMEM_SET_BYTES_MAX 5200u
int labelmem_set(const struct labelmem *m, uint32_t set, char buf[LABELMEM_SET_BYTES_MAX],
		 uint32_t *ret_n_labels);

#endif
