#ifndef CPROF_SNAPSHOT_SNAPSHOT_H
#define CPROF_SNAPSHOT_SNAPSHOT_H

/*
 * One snapshot: what each thread, or each goroutine, of the targets was doing.  A kind of recorder
 * fills it from the memory of the targets:
 *
 *     snapshot_begin(s);
 *     for each thread or goroutine:
 *             snapshot_unwind(s, process, &sample, &stack);
 *             snapshot_label(s, "syscall", "read"); ...
 *             snapshot_add(s, &entry);
 *     snapshot_count(s);
 *
 * Strings, label sets and stacks are ids of the engine's tables, so that a snapshot costs no memory
 * of its own for what its entries share.  Names, the profile and the text follow from the engine as
 * for any other recording.  The ids are valid until the engine collects unused ones, which it does
 * with the next records that it processes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agg/labels.h"
#include "base/vec.h"

struct engine;
struct procs_process;
struct record;

/* How sure the stack of an entry is; the words are those of the label "snapshot". */
enum snapshot_quality {
	SNAPSHOT_EXACT,         /* it has not moved between from_ns and to_ns */
	SNAPSHOT_MOVED,         /* it has, but not while it was read, between these two times */
	SNAPSHOT_RUNNING,       /* sampled or stopped while it ran, likewise */
	SNAPSHOT_HEURISTIC,     /* a frame of the stack is a guess (EXACT or MOVED otherwise) */
	SNAPSHOT_UNKNOWN,       /* there is no stack */
	SNAPSHOT_N_QUALITIES
};

/* Keys of labels with a number; the values of all others are text. */
#define SNAPSHOT_WAIT "wait"            /* ns */
#define SNAPSHOT_GO_WAIT "go::wait"     /* ns */

#define SNAPSHOT_WAIT_UNKNOWN UINT64_MAX

struct snapshot_entry {
	bool is_task;                   /* of a language's runtime: a goroutine; else a thread */
	enum snapshot_quality quality;
	uint32_t pid;
	uint64_t id;                    /* of the thread or the goroutine */
	uint32_t name, process_name;    /* strings; 0: none */
	uint32_t state;                 /* string: "sleeping", "chan receive" */
	uint64_t wait_ns;               /* or SNAPSHOT_WAIT_UNKNOWN */
	bool has_runs;
	uint64_t n_runs;                /* how often it had been given a CPU; of a goroutine, a
					 * number that most probably is another one if it has run */
	uint32_t stack;                 /* of the engine's stacks */
	uint32_t labels;                /* set by snapshot_add: all labels, also of the above */
};

/* Why threads are missing from the snapshot, or have no stack. */
enum snapshot_loss {
	SNAPSHOT_LOST_ENDED,            /* ended meanwhile, or executed another program */
	SNAPSHOT_LOST_DENIED,           /* may not be read */
	SNAPSHOT_LOST_MOVING,           /* moved each time that it was read */
	SNAPSHOT_LOST_STARVED,          /* runnable, but got no CPU in time for its sample */
	SNAPSHOT_LOST_UNANSWERED,       /* the process holds back its readers (remotemem.h) */
	SNAPSHOT_LOST_LIMIT,            /* beyond the limits on memory, entries or time */
	SNAPSHOT_N_LOSSES
};

struct snapshot {
	struct engine *engine;          /* borrowed */
	VEC(struct snapshot_entry) entries;
	bool is_task;                   /* all entries are */
	uint64_t from_ns, to_ns;        /* CLOCK_MONOTONIC: when the memory of targets was read */
	uint64_t n_of[SNAPSHOT_N_QUALITIES];
	uint64_t n_lost[SNAPSHOT_N_LOSSES];
	uint64_t min_wait_ns;           /* the caller's: only what waits at least so long; 0: all */
	uint64_t n_short;               /* left out because of it; see snapshot_is_short */
	uint64_t n_stopped, stopped_ns; /* threads that were stopped; the longest stop of one */
	uint64_t n_not_stopped;         /* that were to be stopped */
	uint32_t tracer;                /* the process that traces one of these; 0: none */
	char tracer_name[16];
	uint64_t n_functions, n_no_functions; /* threads that execute functions, which are in the
					 * stack, or unknown */
	char functions_of[128];         /* the interpreter, or why they are unknown; "": none */
	/* Private: labels of the next entry. */
	struct label label[LABELS_PER_SET_MAX];
	uint32_t n_labels;
};

void snapshot_init(struct snapshot *s, struct engine *engine);
void snapshot_done(struct snapshot *s);
void snapshot_begin(struct snapshot *s);  /* empties it */
/* A stack, and what is known about it. */
struct snapshot_stack {
	uint32_t id;                    /* of the engine's stacks; never STACKS_NONE */
	bool is_whole;                  /* it reaches the root */
	bool is_short;                  /* it is longer than the copy in the record */
	bool is_heuristic;              /* some frame is a guess */
	bool is_unmapped;               /* some frame is in no mapping that is known */
	/* The outermost frame is code that a signal has interrupted, on another stack.  Its
	 * callers are found by unwinding from there, and snapshot_join. */
	bool is_interrupted;
	uint32_t n_frames;
	uint64_t pc, sp, fp;            /* of the interrupted code */
};

/*
 * Unwinds SAMPLE r of a process: user registers (at least pc and stack pointer) and a copy of the
 * stack, or a callchain.  r->pid and r->tid name a living thread, whose memory may be read for a
 * stack that is longer than its copy.
 */
void snapshot_unwind(struct snapshot *s, struct procs_process *p, const struct record *r,
		     struct snapshot_stack *ret);

/* Puts the frames of a stack that is_interrupted, without the outermost one, on top of the stack of
 * the interrupted code, which replaces *ret. */
void snapshot_join(struct snapshot *s, const struct snapshot_stack *inner,
		   struct snapshot_stack *ret);

/* The stack that is one pseudo frame: "[no stack]". */
uint32_t snapshot_no_stack(struct snapshot *s);

/* Adds a label to the next entry that is added.  An empty text is no label. */
void snapshot_label(struct snapshot *s, const char *key, const char *text);
void snapshot_number(struct snapshot *s, const char *key, uint64_t number);

/* The labels of the next entry, and the user's, as a set of the engine's, for what is no entry. */
uint32_t snapshot_take_labels(struct snapshot *s);

/* Is something that waits for so long, or SNAPSHOT_WAIT_UNKNOWN, left out?  It is counted. */
bool snapshot_is_short(struct snapshot *s, uint64_t wait_ns);

/* Adds an entry with these labels, those of the user, and those that follow from its fields: pid,
 * process_name, snapshot; of a thread also tid, thread_name, state and wait.  False: no memory; the
 * entry is counted as SNAPSHOT_LOST_LIMIT. */
bool snapshot_add(struct snapshot *s, const struct snapshot_entry *e);

/* Gives all entries to the engine's counts of event 0: one sample each, with its wait as value. */
void snapshot_count(struct snapshot *s);

/* "exact" ...; "ended" ... and "ended or executed another program meanwhile" ... */
const char *snapshot_quality_name(enum snapshot_quality q);
const char *snapshot_loss_name(enum snapshot_loss l);
const char *snapshot_loss_words(enum snapshot_loss l);

#endif
