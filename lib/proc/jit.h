#ifndef CPROF_PROC_JIT_H
#define CPROF_PROC_JIT_H

/*
 * JIT code of processes.  Its files are read as they grow, while the processes live:
 * /tmp/perf-PID.map, and the jitdump behind a mapping of jit-PID.dump.  When code replaces other
 * code a new generation begins: a DSO of its own in the frames, so that an address stands for the
 * code that was there at that time.
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
struct livecode;
struct log;
struct procs;
struct procs_process;
struct procs_space;
struct record;
struct runtime_frame;
struct module;

struct jit {
	struct budget *budget;
	struct dso_table *dsos;
	const struct host *host;       /* NULL: a replay, without files: does nothing */
	struct livecode *live;         /* borrowed, the caller's; NULL: memory is not read */
	VEC(struct jit_process *) process;  /* NULL: forgotten, the slot is free */
	uint32_t n_known, n_ever;      /* processes; private: serials used so far */
	uint32_t n_open;               /* processes whose files are open */
	uint64_t n_unread;             /* processes with files that were not read completely */
	uint64_t first_polled;         /* private */
	uint64_t polled_ns, now_ns;    /* time of the last jit_poll; of the last sample */
	bool is_alive;                 /* the caller's: a stack still keeps the code of the sample
					* alive, so what is there now is what was there */
	struct procs *procs;           /* private: of the last jit_at, like at */
	struct procs_process *at;
};

void jit_init(struct jit *j, struct budget *budget, struct dso_table *dsos,
	      const struct host *host);
void jit_done(struct jit *j);

/* Takes note of a record that procs_feed has processed: MMAP, COMM, FORK, EXIT; ignores others. */
void jit_feed(struct jit *j, struct procs *procs, const struct record *r);

/* Sets p's space to its state at that time; call it before a sample of p is looked up. */
void jit_at(struct jit *j, struct procs *procs, struct procs_process *p, uint64_t time_ns);

/*
 * Reads what was added to the files, at most every 5 ms and some MiB at once.  Call it before
 * records are read from the rings, so that the code they refer to is known.  is_forced: at the end
 * of the recording; reads all that the files have now, for a second at most.
 */
void jit_poll(struct jit *j, uint64_t now_ns, bool is_forced);

/* The DSO of the frame of pc in memory without a file, at the time of the last jit_at.  Reads what
 * is there when it is new. */
uint32_t jit_dso(struct jit *j, const struct procs_space *space, uint64_t pc);

/* Are there frames in that space whose pc does not say which function they execute?  The second
 * sets the pc of those to one that says it, of which jit_dso is the DSO. */
bool jit_has_frames(const struct jit *j, const struct procs_space *space);
void jit_frames(struct jit *j, struct procs_space *space, struct runtime_frame *frame,
		size_t n);

/* Is the code at n addresses of the last jit_at's process what it was when they were looked up?  If
 * not, the space has a new state, in which they must be looked up again. */
bool jit_prove(struct jit *j, const struct procs_space *space, const uint64_t *pc, size_t n);

/* Copies up to n_bytes of JIT code, if it is known; returns how many. */
size_t jit_read(struct jit *j, const struct procs_space *space, uint64_t pc, void *buf,
		size_t n_bytes);

/* CFI of the JIT code at pc, in a recording of that architecture; false if none is known. */
bool jit_find_module(struct jit *j, const struct arch *arch, const struct procs_space *space,
		     uint64_t pc, struct module *ret);

/* Sets what ret has of the frame of the code at pc. */
void jit_find_frame(struct jit *j, const struct procs_space *space, uint64_t pc,
		    struct module *ret);

/* The places of a DSO_ANON's names, in the order of look-up: a forked process also has its parent's
 * code.  Returns their number. */
size_t jit_views(const struct jit *j, const struct dso *d,
		 struct jitcode_view view[JITCODE_VIEWS_MAX]);

/* When p's code was first seen, as in the records' time. */
uint64_t jit_start_ns(const struct jit *j, const struct procs_process *p);

/* The DSO of j for the code that d stands for in another struct jit, which has seen the same
 * processes; NULL: d is no such DSO, or j does not have it. */
const struct dso *jit_same(struct jit *j, const struct jit *other, const struct dso *d);

/*
 * Forgets processes that have ended and whose code belongs to no DSO in used[]; sets used[] for the
 * DSOs of the others.
 */
void jit_forget(struct jit *j, const struct procs *procs, bool *used);

/* The number of processes with files that were not opened for lack of descriptors. */
uint64_t jit_n_no_descriptor(const struct jit *j);

/* Logs for each process what was read, and what was refused and why. */
void jit_explain(const struct jit *j, const struct log *log);

#endif
