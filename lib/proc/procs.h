#ifndef CPROF_PROC_PROCS_H
#define CPROF_PROC_PROCS_H

/*
 * The processes of a session as its records tell them: names of threads, who
 * forked whom, and address spaces.  Fed in time order, so an address means what was
 * mapped there at that moment.  Never dropped for want of memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/dso.h"

struct budget;
struct host;
struct record;
struct strtab;

/* A mapped range with code. */
struct procs_map {
	uint64_t start, end;   /* [start, end) in the process */
	uint64_t pgoff;        /* file offset of start */
	uint32_t dso;          /* dso_table id */
};

/* An address space; shared by the threads of a process, copied at fork, emptied at exec. */
struct procs_space {
	struct procs_map *map; /* sorted by start, not overlapping */
	uint32_t n, cap;
	uint32_t serial;       /* unique; a new one whenever an existing pc's meaning may change */
};

struct procs_thread {
	uint32_t tid;
	uint32_t name;         /* strtab id; 0 unknown */
	struct procs_process *process;
	void *user;            /* the session's (frame memo); freed by procs_done with free() */
	bool exited;
};

struct procs_process {
	uint32_t pid, ppid;
	uint32_t name;         /* name of the leader thread: what was last exec'ed */
	uint32_t exe;          /* dso id of the main binary; UINT32_MAX unknown */
	struct procs_space space;
	bool target;           /* belongs to what the user wants recorded */
	bool exited;
};

struct procs {
	struct budget *budget;
	struct strtab *strings;       /* borrowed */
	struct dso_table *dsos;       /* borrowed */
	const struct host *host;      /* live: files are opened through it; NULL: no files (replay) */
	struct procs_process **process;
	size_t n_processes, cap_processes;
	struct procs_thread **thread;
	size_t n_threads, cap_threads;
	struct procs_index *pid_index, *tid_index;
	uint32_t next_serial;
	uint32_t first_exe;           /* dso id of the target's first main binary: mapping[0] */
};

int procs_init(struct procs *p, struct budget *budget, struct strtab *strings,
	       struct dso_table *dsos, const struct host *host);
void procs_done(struct procs *p);

/* Takes MMAP, MMAP2, COMM, FORK, EXIT; others are ignored.  A FORK makes the child a target when its
 * parent is one (unless `follow` is false and it is another process); duplicates are harmless. */
void procs_feed(struct procs *p, const struct record *r, bool follow);

/* Finds, or makes (with no maps and an unknown name), never NULL except when memory is out. A thread whose process changed
 * (tid reused) is made anew. */
struct procs_process *procs_process(struct procs *p, uint32_t pid);
struct procs_thread *procs_thread(struct procs *p, uint32_t pid, uint32_t tid);

/* The map that holds pc, or NULL.  Borrowed until the next procs_feed. */
const struct procs_map *procs_space_find(const struct procs_space *s, uint64_t pc);

#endif
