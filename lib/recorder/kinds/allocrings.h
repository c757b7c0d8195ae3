#ifndef CPROF_RECORDER_KINDS_ALLOCRINGS_H
#define CPROF_RECORDER_KINDS_ALLOCRINGS_H

/* The rings of the targets that have libcprof-alloc.so: that of the command, and those that
 * processes have made themselves. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "proc/idmap.h"
#include "recorder/kinds/allocids.h"
#include "source/allocring.h"

struct engine;
struct host;
struct log;
struct procs_process;

/* A ring that a process has made, and the processes that write to it. */
struct allocrings_found {
	struct allocring ring;
	struct allocids ids;
};

struct allocrings_stats {
	uint32_t n_processes;      /* with the library */
	uint32_t n_denied;         /* whose memory, or descriptors, may not be read */
	uint32_t n_no_ring;        /* that have closed the descriptor, or could not make one */
	uint32_t n_busy;           /* that another profiler records */
	uint32_t n_shadowed;       /* whose malloc is that of a library before ours */
	uint32_t n_other_new;      /* whose operator new is that of their allocator */
	uint32_t n_bad;            /* that wrote something else into their ring */
	struct allocring_losses lost;  /* of rings that were closed */
};

struct allocrings {
	const struct host *host;
	const struct log *log;
	uint64_t mean;
	uint32_t stack_bytes;
	bool has_frees;                    /* ends of blocks are wanted */
	struct allocring *commands;        /* borrowed; NULL: there is none */
	VEC(struct allocrings_found) found;
	struct idmap searched;             /* pid -> changes of its address space + 1 */
	struct idmap seeing;               /* pid, if the library sees its allocations */
	struct allocrings_stats stats;
	bool is_explained;
};

void allocrings_init(struct allocrings *a, const struct host *host, const struct log *log);
void allocrings_done(struct allocrings *a);

/* Looks for rings of targets whose mappings have changed, and starts them. */
void allocrings_search(struct allocrings *a, const struct engine *g);

/* A process has forked another one, which writes to the same ring. */
void allocrings_fork(struct allocrings *a, uint32_t pid, uint32_t child);

/* Reports once what is missing: the recording goes on with the other processes. */
void allocrings_explain(struct allocrings *a);

/* The process ended, or is another program. */
void allocrings_forget(struct allocrings *a, uint32_t pid);

/* Do the rings have the samples of this process? */
bool allocrings_sees(const struct allocrings *a, uint32_t pid);

/* Calls each for every record up to until_ns, of one ring after the other. */
void allocrings_read(struct allocrings *a, uint64_t until_ns,
		     void (*each)(void *ctx, const struct record *r), void *ctx);

/* Keeps the writers going. */
void allocrings_tend(struct allocrings *a, uint64_t now_ns);

/* Stops all: what was written can still be read. */
void allocrings_stop(struct allocrings *a);

/* Has a process a malloc before ours, so that ours is not called? */
bool allocrings_any_shadowed(const struct allocrings *a);

/* Rings that some program has opened. */
size_t allocrings_n(const struct allocrings *a);
struct allocring_losses allocrings_losses(const struct allocrings *a);

#endif
