#ifndef CPROF_SNAPSHOT_H
#define CPROF_SNAPSHOT_H

/*
 * The entries of a recorder's last snapshot, one per thread or goroutine, for kinds of recorders
 * that take snapshots.  The profile has the same entries as samples.  Valid after
 * cprof_recorder_snapshot, until the next call that is not in this header; strings are borrowed for
 * as long.  Conventions as in cprof.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cprof.h"

struct cprof_snapshot_window {
	uint64_t from_ns, to_ns;       /* CLOCK_MONOTONIC: when the targets' memory was read */
	uint64_t n_stopped, stopped_ns; /* threads that were stopped; the longest stop of one */
	uint64_t n_not_stopped;        /* threads that were to be stopped, but could not be */
	uint32_t tracer;               /* the process that traces one of these; 0: none does */
	const char *tracer_name;
	uint64_t n_short;              /* left out because of cprof_config.min_wait_ns */
	bool is_task;                  /* the entries are goroutines; else threads */
};

/* Threads that execute functions of an interpreter. */
struct cprof_snapshot_functions {
	uint64_t n, n_unknown;         /* whose functions are in their stacks, or unknown */
	const char *text;              /* the interpreter, or why they are unknown; "": neither */
};

struct cprof_snapshot_entry {
	bool is_task;                  /* of a language's runtime: a goroutine; else a thread */
	const char *quality;           /* "exact", "moved", "running", "heuristic", "unknown" */
	uint32_t pid;
	uint64_t id;                   /* of the thread or the goroutine */
	const char *name, *process_name, *state;  /* "": unknown */
	bool has_wait;
	uint64_t wait_ns;
	bool has_runs;
	uint64_t n_runs;               /* how often it had been given a CPU; of a goroutine,
					* a number that changes when it runs */
	uint32_t stack;                /* equal stacks have equal numbers */
	size_t n_labels;               /* all labels, also of the above */
};

struct cprof_snapshot_label {
	const char *key, *text;
	const char *unit;              /* NULL: no number */
};

/* One function of a stack.  Inlined functions share the address of the function that they were
 * inlined into. */
struct cprof_snapshot_frame {
	const char *function, *file;   /* "": unknown */
	uint32_t line;                 /* 0: unknown */
	const char *mapping;           /* the path of the program or library; "": none */
	uint64_t address;              /* in that file */
	uint64_t offset;               /* of the address in the function that is not inlined; 0:
					* unknown */
	bool is_inlined;
	bool is_wrapper;               /* the compiler made it, to pass on arguments */
};

/* Looks up the names, which frames need.  -EINVAL: the recorder has no snapshot. */
int cprof_snapshot_names(struct cprof_recorder *r, struct cprof_error *e);

size_t cprof_snapshot_n_entries(const struct cprof_recorder *r);
void cprof_snapshot_entry(const struct cprof_recorder *r, size_t i,
			  struct cprof_snapshot_entry *ret);
/* k is below n_labels. */
void cprof_snapshot_label(const struct cprof_recorder *r, size_t i, size_t k,
			  struct cprof_snapshot_label *ret);

/* Calls each with the frames of a stack, innermost first, until it returns false. */
void cprof_snapshot_frames(const struct cprof_recorder *r, uint32_t stack,
			   bool (*each)(void *ctx, const struct cprof_snapshot_frame *f),
			   void *ctx);

void cprof_snapshot_window(const struct cprof_recorder *r, struct cprof_snapshot_window *ret);

void cprof_snapshot_functions(const struct cprof_recorder *r, struct cprof_snapshot_functions *ret);

/* How many entries have the i-th quality, or are missing or without a stack for the i-th reason.
 * Returns its name; NULL: there are no more. */
const char *cprof_snapshot_quality(const struct cprof_recorder *r, size_t i, uint64_t *ret_n);
const char *cprof_snapshot_loss(const struct cprof_recorder *r, size_t i, uint64_t *ret_n);

/* The i-th reason in words: "ended or executed another program meanwhile". */
const char *cprof_snapshot_loss_words(size_t i);

#endif
