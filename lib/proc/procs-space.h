#ifndef CPROF_PROC_PROCS_SPACE_H
#define CPROF_PROC_PROCS_SPACE_H

/* The code of an address space: the file and offset of each pc. */

#include <stdint.h>

#include "base/vec.h"

struct runtime;

/* A mapped range with code. */
struct procs_map {
	uint64_t start, end;   /* [start, end) in the process */
	uint64_t pgoff;        /* file offset of start; without a file, start itself */
	uint32_t dso;          /* dso_table id */
};

/*
 * Shared by the threads of a process, copied at fork, emptied at exec.  The serial changes whenever
 * the meaning of a known pc may change.  A mapping in an unused range keeps it, so a failed look-up
 * must not be cached by serial.
 */
struct procs_space {
	VEC(struct procs_map) map;  /* sorted by start, not overlapping */
	uint32_t serial;       /* unique among spaces and over time */
	uint32_t n_changes;    /* counts all changes, including those that keep the serial */
	uint32_t hint;         /* index of the last hit */
	/* Kept by the session for executable memory without a file; 0: none; not copied. */
	uint32_t jit;          /* whose JIT code it is */
	uint32_t jit_dso;      /* the current DSO of such memory, instead of the mapping's */
	uint32_t jit_n;        /* how much of its code was known when n_changes last rose */
	/* Kept by lib/stack: the runtime of the process at runtime_serial, a stack_user_serial;
	 * NULL: unknown. */
	const struct runtime *runtime;
	uint64_t runtime_serial;
};

enum procs_space_change {
	PROCS_SPACE_SAME,      /* the whole range had the same meaning before */
	PROCS_SPACE_ADDED,     /* only unused ranges were mapped */
	PROCS_SPACE_REPLACED,  /* older mappings were cut or removed */
};

/* Maps m (start < end) over existing mappings: enum procs_space_change, or -ENOMEM with nothing
 * changed.  Does not change the serial.  Adjacent ranges that continue each other are joined. */
int procs_space_insert(struct procs_space *s, struct procs_map m);

/* Copies from's mappings to `to` (empty); -ENOMEM. */
int procs_space_copy(struct procs_space *to, const struct procs_space *from);

/* The mapping that contains pc, or NULL.  Borrowed until the next procs_feed. */
const struct procs_map *procs_space_find(struct procs_space *s, uint64_t pc);

#endif
