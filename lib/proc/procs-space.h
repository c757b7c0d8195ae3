#ifndef CPROF_PROC_PROCS_SPACE_H
#define CPROF_PROC_PROCS_SPACE_H

/* The code of an address space: which file, at which offset, lies behind each pc. */

#include <stdint.h>

struct runtime;

/* A mapped range with code. */
struct procs_map {
	uint64_t start, end;   /* [start, end) in the process */
	uint64_t pgoff;        /* file offset of start; the start itself where there is no file */
	uint32_t dso;          /* dso_table id */
};

/*
 * Shared by the threads of a process, copied at fork, emptied at exec.  The serial changes
 * whenever a pc that meant something may mean something else; a mapping where nothing was
 * keeps it, so a pc that was found nowhere must not be remembered by serial.
 */
struct procs_space {
	struct procs_map *map; /* sorted by start, not overlapping */
	uint32_t n, cap;
	uint32_t serial;       /* unique among spaces and over time */
	uint32_t n_changes;    /* counts all changes, also those that keep the serial */
	uint32_t hint;         /* index of the map that was found last */
	/* Kept by the session for executable memory without a file, 0: none; not copied. */
	uint32_t jit;          /* whose JIT code it is */
	uint32_t jit_dso;      /* the DSO that such memory is now, in place of the map's */
	uint32_t jit_n;        /* how much of its code was known when n_changes was last raised */
	/* Kept by lib/stack: the runtime that the process ran at runtime_serial, which is a
	 * stack_user_serial; NULL: none is known. */
	const struct runtime *runtime;
	uint64_t runtime_serial;
};

enum procs_space_change {
	PROCS_SPACE_SAME,      /* all of the range meant the same before */
	PROCS_SPACE_ADDED,     /* new meanings only where there was none */
	PROCS_SPACE_REPLACED,  /* older maps were cut or removed */
};

/* Maps m (start < end) over whatever is there: enum procs_space_change, or -ENOMEM with
 * nothing changed.  Leaves the serial alone.  Ranges that continue each other are joined. */
int procs_space_insert(struct procs_space *s, struct procs_map m);

/* Makes to (empty, cap 0) a copy of from's maps; -ENOMEM. */
int procs_space_copy(struct procs_space *to, const struct procs_space *from);

/* The map that holds pc, or NULL.  Borrowed until the next procs_feed. */
const struct procs_map *procs_space_find(struct procs_space *s, uint64_t pc);

#endif
