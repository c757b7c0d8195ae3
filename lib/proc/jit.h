#ifndef CPROF_PROC_JIT_H
#define CPROF_PROC_JIT_H

/*
 * The code that processes make while they run.  Its files are read while the processes live, as
 * they grow: /tmp/perf-PID.map, and the jitdump that a mapping of jit-PID.dump leads to.  Where
 * code takes the place of other code a new generation begins: a DSO of its own in the frames, so
 * that an address means, at each time, what then lay there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/jit/jitcode.h"

struct arch;
struct budget;
struct dso;
struct dso_table;
struct host;
struct jit_process;
struct log;
struct procs;
struct procs_process;
struct procs_space;
struct record;
struct module;

struct jit {
	struct budget *budget;
	struct dso_table *dsos;
	const struct host *host;       /* NULL: a replay, whose files are gone: nothing is done */
	VEC(struct jit_process *) process;  /* NULL: forgotten, the place is free */
	uint32_t n_known, n_ever;      /* processes; private: serials given */
	uint32_t n_open;               /* processes whose files are open */
	uint64_t polled_ns, now_ns;    /* last jit_poll; time of the last sample */
};

void jit_init(struct jit *j, struct budget *budget, struct dso_table *dsos,
	      const struct host *host);
void jit_done(struct jit *j);

/* Takes note of a record that procs_feed has taken: MMAP, COMM, FORK, EXIT; others are ignored. */
void jit_feed(struct jit *j, struct procs *procs, const struct record *r);

/* Makes p's space mean what it meant at that time; before a sample of p is looked up. */
void jit_at(struct jit *j, struct procs *procs, struct procs_process *p, uint64_t time_ns);

/* Reads what the files have grown by, at most every 5 ms unless forced.  Before records are taken
 * from the rings, so that what they speak of is known. */
void jit_poll(struct jit *j, uint64_t now_ns, bool is_forced);

/* CFI of the code at pc, in a recording of that architecture; false where none is known. */
bool jit_find_module(struct jit *j, const struct arch *arch, const struct procs_space *space,
		     uint64_t pc, struct module *ret);

/* Where the names of a DSO_ANON stand, to be asked one after the other: a process made by fork has
 * its parent's code, too.  Returns how many. */
size_t jit_views(const struct jit *j, const struct dso *d,
		 struct jitcode_view view[JITCODE_VIEWS_MAX]);

/*
 * Forgets processes that have ended and whose code no DSO is of with used[], and sets used[] for
 * the DSOs of the others.
 */
void jit_forget(struct jit *j, const struct procs *procs, bool *used);

/* Says for each process what was read, and what was refused and why. */
void jit_explain(const struct jit *j, const struct log *log);

#endif
