#ifndef CPROF_STACK_STACK_USER_H
#define CPROF_STACK_STACK_USER_H

/*
 * The user's part of a stack, from sampled registers and a copy of the stack.  Connects the
 * unwinder to the tables of processes and files, and counts how stacks end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "stack/stack-fp.h"
#include "stack/stack-memory.h"
#include "stack/stack-switch.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/unwind/unwind.h"

/* Enough for deep recursions that fit into the copy, or are joined. */
#define STACK_USER_DEPTH_DEFAULT 16384u

struct dso_table;
struct procs_space;
struct host;
struct jit;
struct record;
struct runtime_file;

/* How often stacks ended in each way. */
struct stack_user_ends {
	uint64_t n[UNWIND_N_ENDS];
};

struct stack_user_module {
	struct cfi *cfi;               /* NULL: not open, or the file has none */
	struct runtime_file *runtime;  /* NULL: of no known runtime */
	bool is_tried;                 /* opening it was tried */
	struct stack_user_ends ends;   /* of stacks whose outermost known frame is in it */
};

struct stack_user {
	/* May be set after stack_user_init. */
	struct jit *jit;               /* CFI of code without a file; borrowed; NULL: none */
	struct symdebug_place debug;   /* of debug files, for .debug_frame; host NULL: none */
	/* Statistics since stack_user_clear, for callers to read. */
	struct stack_user_ends ends;
	uint64_t n_unsupported;        /* 32-bit code, or an unsupported architecture */
	uint64_t n_joined;             /* stacks whose outer part is from another one */
	uint64_t n_deep;               /* stacks that were completed from memory */
	VEC(struct stack_user_module) modules;  /* by dso id */
	/* Also for callers to read. */
	uint32_t n_open;               /* modules whose cfi is open */
	struct unwind *unwind;         /* NULL: an unsupported architecture */
	struct stack_switch outer;     /* what follows the last stack */
	enum stack_fp fp;              /* of the last stack */
	/* Private. */
	struct dso_table *dsos;        /* borrowed */
	const struct host *host;       /* NULL: an import, whose processes are gone */
	const struct arch *arch;       /* NULL: an unsupported architecture */
	struct stack_memory memory;
	uint64_t n_guessed_before;     /* the unwinder's count at stack_user_clear */
};

/* The statistics of a part of the recording. */
struct stack_user_counts {
	struct stack_user_ends ends;
	uint64_t n_unsupported, n_joined, n_deep, n_guessed;
	VEC(struct stack_user_dso_ends { uint32_t dso; struct stack_user_ends ends; }) of_dso;
};

/* host: where /proc/PID/mem of living processes is, or NULL.  max_depth: frames of one stack, 0 for
 * STACK_USER_DEPTH_DEFAULT.  machine: "x86_64", "aarch64" as uname -m says; NULL and others are not
 * unwound.  rules: unwind_cache_bytes(0) zeros, borrowed, or NULL.  -ENOMEM. */
int stack_user_init(struct stack_user *u, struct dso_table *dsos, const struct host *host,
		    const char *machine, uint32_t max_depth, void *rules);
void stack_user_done(struct stack_user *u);

/* Resets the statistics. */
void stack_user_clear(struct stack_user *u);

/* Heuristic steps: by the frame pointer, and by rules from the code. */
uint64_t stack_user_n_guessed(const struct stack_user *u);

/* Moves the statistics to *ret and resets them; -ENOMEM with nothing changed. */
int stack_user_take(struct stack_user *u, struct stack_user_counts *ret);
/* Adds to the statistics; without memory those of some files are lost. */
void stack_user_add(struct stack_user *u, const struct stack_user_counts *c);
void stack_user_counts_done(struct stack_user_counts *c);

/* The first sets used[] for the DSOs in the statistics, the second forgets DSOs without used[]. */
void stack_user_mark(const struct stack_user *u, bool *used);
void stack_user_forget(struct stack_user *u, const bool *used);
/* Closes the CFI of DSOs without used[]; it is opened again when needed. */
void stack_user_close(struct stack_user *u, const bool *used);

/* A thread's last stacks.  Zeroed at first; one per thread, owned by the caller. */
struct stack_user_memos {
	struct unwind_memo memo[2];    /* one of them is for stacks longer than their copies */
	uint32_t current;              /* the memo that holds the last stack */
	uint32_t n_since;              /* stacks since the other memo was current */
	uint32_t n_vain;               /* failures to read memory since the last success */
	uint64_t tried_ns;             /* time of the last attempt */
};
void stack_user_memos_done(struct stack_user_memos *m);
size_t stack_user_memos_bytes(const struct stack_user_memos *m);

/* The current memo, whose caller_id the caller sets.  NULL if m is NULL. */
struct unwind_memo *stack_user_memo(struct stack_user_memos *m);

/*
 * Unwinds the user part of SAMPLE r.  False: it cannot be unwound (no registers, 32-bit code), and
 * *ret is undefined.  memos may be NULL.  Sets u->outer to the frames further out, on another
 * stack.
 */
bool stack_user_walk(struct stack_user *u, struct procs_space *space, const struct record *r,
		     struct stack_user_memos *memos, struct unwind_result *ret);

/* Identifies the present state of the address space: each change gives it another number. */
uint64_t stack_user_serial(const struct procs_space *space);

/* As unwind_memo_caller; -1 also when memo is not of the address space's present state. */
int64_t stack_user_caller(struct stack_user *u, struct procs_space *space,
			  const struct unwind_memo *memo, uint64_t pc, uint64_t cfa);

#endif
