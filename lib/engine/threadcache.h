#ifndef CPROF_ENGINE_THREADCACHE_H
#define CPROF_ENGINE_THREADCACHE_H

/*
 * What the engine remembers of a thread between its samples: its last stacks, its last label set,
 * and truncated stacks that may still be completed.  Everything can be dropped at any time, at the
 * cost of more look-ups and of stacks that stay truncated.
 */

#include <stdint.h>

#include "labels/samplelabels.h"
#include "stack/stack-patchlater.h"
#include "stack/stack-user.h"

struct budget;
struct procs;
struct procs_space;
struct record;
struct stack_walk;
struct stack_walk_memo;

/* In procs_thread.user.  Charged to the budget. */
struct threadcache {
	struct samplelabels_memo labels; /* the caller's */
	/* Private. */
	struct budget *budget;
	struct stack_walk_memo *memo;   /* with frame pointers; NULL: none yet */
	struct stack_user_memos unwind; /* with CFI */
	struct stack_patchlater late;
};

/* budget and pool, which all threads share, are borrowed.  NULL: no memory. */
struct threadcache *threadcache_new(struct budget *budget, struct stack_patchlater_pool *pool);

/* Frees a struct threadcache; its type is that of procs.user_free. */
void threadcache_free(void *user);

/* The stack of SAMPLE r in that address space: by CFI if the sample has registers, else by its
 * callchain.  Never STACKS_NONE.  own may be NULL. */
uint32_t threadcache_stack(struct threadcache *own, struct stack_walk *w,
			   struct procs_space *space, const struct record *r);

/* Call it after w's last stack by CFI was counted as described by cut.  Completes earlier truncated
 * stacks with it, or keeps it for completion. */
void threadcache_patch(struct threadcache *own, struct stack_walk *w, struct procs_space *space,
		       const struct stack_patchlater_cut *cut,
		       const struct stack_patchlater_to *to);

/* Drops the caches of all threads. */
void threadcache_drop_all(struct procs *procs);

/* Calls each with the label sets of every sample whose stack may still be completed; it may change
 * the set.  Drops the sets that threads have cached. */
void threadcache_each_waiting_set(struct procs *procs, void (*each)(void *ctx, uint32_t *set),
				  void *ctx);

#endif
