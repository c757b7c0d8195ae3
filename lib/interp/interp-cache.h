#ifndef CPROF_INTERP_INTERP_CACHE_H
#define CPROF_INTERP_INTERP_CACHE_H

/* The interpreters of the processes of a recording. */

#include <stdbool.h>
#include <stdint.h>

#include "interp/interp.h"
#include "interp/interp-file.h"
#include "interp/interp-learned.h"
#include "proc/idmap.h"
#include "proc/refused.h"

struct interp_process;
struct interp_runtime;
struct interp_samples;
struct procs;
struct procs_process;

struct interp_cache {
	struct interp_tables tables;    /* the owner's */
	struct interp_learned learned;  /* its folder is the owner's to set */
	struct interp_files files;      /* private */
	struct idmap by_pid;            /* private: struct interp_cache_entry */
	uint32_t n_found;               /* processes with an interpreter */
	uint32_t n_opened;              /* interpreters so far */
	struct refused refused;         /* processes whose functions are unknown */
	bool is_final;                  /* otherwise they may have been starting */
};

void interp_cache_done(struct interp_cache *c);

/* The interpreter of a process; NULL: it runs none, or it cannot be read.  Borrowed until the next
 * call of this header. */
struct interp_process *interp_cache_find(struct interp_cache *c, struct procs_process *p,
					uint64_t now_ns);

/* Should a process that has samples be looked at later?  Call it before interp_cache_program. */
bool interp_cache_is_early(struct interp_cache *c, const struct procs_process *p,
			   uint64_t now_ns);

/* The same for samples of threads that run.  False: it runs none, or no memory, or is_refused. */
struct interp_program {
	const struct interp_runtime *runtime;
	const struct interp_code *code;
	struct interp_samples *samples;
	uint32_t number;                /* another interpreter of the process has another one */
	bool is_refused;                /* it runs one that cannot be read */
};
bool interp_cache_program(struct interp_cache *c, struct procs_process *p, uint64_t now_ns,
			  struct interp_program *ret);

/* Forgets processes that have ended; for files that nobody needs, once a second will do. */
void interp_cache_trim(struct interp_cache *c, const struct procs *procs);

#endif
