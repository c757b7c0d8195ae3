#ifndef CPROF_BASE_RIGHTS_H
#define CPROF_BASE_RIGHTS_H

/*
 * Capabilities that belong to the program's file and not to the person who started it: they are
 * effective only while cprof asks the kernel for something that it has decided to do with them.
 * Everything else (outputs, caches, source text, debug files, commands) happens with the caller's
 * own rights.
 *
 * A process that never calls rights_limit, as every program with libcprof, is left alone: all the
 * functions below then do nothing.
 */

#include <stdbool.h>
#include <stdint.h>

/* The capabilities that recording can use, as a set of bits (1 << CAP_...). */
uint64_t rights_useful(uint64_t permitted);

/* The permitted capabilities of this thread; 0 if the kernel does not answer. */
uint64_t rights_permitted(void);

/* May this thread load BPF programs? */
bool rights_may_bpf(void);

/* Gives up all capabilities but these, and makes none effective; the inheritable ones stay as the
 * caller left them.  The process must have one thread.  Returns 0 or -errno. */
int rights_limit(uint64_t keep);

/* Gives up what rights_limit has kept.  Returns 0 or -errno. */
int rights_drop(void);

/* Are there kept capabilities? */
bool rights_are_kept(void);

/* Makes the kept capabilities effective; false: there are none, or they are effective already.
 * The usual form:  CLEANUP_RIGHTS bool raised = rights_raise();  */
bool rights_raise(void);

/* Ends rights_raise, if *raised.  errno stays. */
void rights_lower(const bool *raised);

#define CLEANUP_RIGHTS __attribute__((cleanup(rights_lower), unused))

#endif
