#ifndef CPROF_PROC_LOCKREAD_H
#define CPROF_PROC_LOCKREAD_H

/*
 * What a thread waits for in futex(2), and which thread holds it.  The memory of the process may
 * contain anything: a wrong word costs only the name of one holder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;

/* A call that waits; all zeros: there is none. */
struct lockread_wait {
	uint64_t address;       /* of the futex word */
	uint32_t op, value;     /* futex_op and val of futex(2) */
};

/* By the first three arguments of futex(2).  False: the call does not wait. */
bool lockread_wait(const uint64_t arg[3], struct lockread_wait *ret);

/* Does it wait for a mutex, so that the thread that wakes it held it?  By the arguments alone. */
bool lockread_is_mutex(const struct lockread_wait *w);

/* What is read at the address: enough for a mutex of glibc. */
#define LOCKREAD_WORDS 5u

/*
 * The thread that holds what w waits for, by the words at its address: an id in the pid namespace
 * of the process.  0: nobody, or it is no mutex whose words show that.
 *
 * - A word with priority inheritance is the holder's id (futex(2), FUTEX_LOCK_PI), as is that of
 *   robust and, in musl, most other mutexes, with the bit FUTEX_WAITERS.
 * - glibc's pthread_mutex_t (sysdeps/nptl/bits/struct_mutex.h) waits with value 2, and has
 *   __owner in its third word.
 */
uint32_t lockread_holder(const struct lockread_wait *w, const uint32_t word[LOCKREAD_WORDS]);

/* The same by the memory of a process that goes on.  0 also if the memory may not be read. */
uint32_t lockread_holder_now(const struct host *h, uint32_t pid, const struct lockread_wait *w);

#endif
