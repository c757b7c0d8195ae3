#ifndef CPROF_PROC_JITLIVE_H
#define CPROF_PROC_JITLIVE_H

/* What one struct jit knows of a process's JIT code by livecode.h: its runtime's library, and the
 * DSOs of the layers, in which the frames of code are that took the place of other code. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct dso_table;
struct livecode;
struct livecode_place;
struct livecode_process;
struct procs_space;

struct jitlive {
	struct livecode_process *process;  /* NULL: no runtime that describes its code is known */
	uint64_t searched;                 /* private: changes of the space when it was searched */
	uint32_t n_renewals;               /* private: of livecode_check */
	uint64_t renewed_ns, tick;         /* private */
	struct jitlive_proven *proven;     /* private: by address */
	VEC(uint32_t) dso;                 /* by layer, from 1 on; UINT32_MAX: none yet */
};

void jitlive_done(struct jitlive *l);

/* Looks for the runtime among the mapped libraries, and opens it when that is due. */
void jitlive_look(struct jitlive *l, struct livecode *all, const struct dso_table *dsos,
		  const struct procs_space *space, uint32_t pid, uint64_t start_ns);

/* Before a sample: has what addresses mean changed, or should unknown ones be looked up again? */
bool jitlive_is_renewed(struct jitlive *l, uint64_t now_ns);

/* Is the code at n addresses of a sample what it was? */
bool jitlive_prove(struct jitlive *l, const uint64_t *pc, size_t n);

/* The DSO of a layer, which is added if necessary; its key has that inode number.  UINT32_MAX: no
 * memory. */
uint32_t jitlive_dso(struct jitlive *l, struct dso_table *dsos, uint32_t pid, uint64_t ino,
		     uint32_t layer);

#endif
