#ifndef CPROF_SNAPSHOT_PYTHONS_H
#define CPROF_SNAPSHOT_PYTHONS_H

/* The Python functions of threads that wait, or are stopped. */

#include <stdbool.h>
#include <stddef.h>

struct pythons;
struct snapshot_stack;
struct take;
struct threadscan_thread;

/* NULL: no memory, or no functions are wanted. */
struct pythons *pythons_new(const struct take *t);
void pythons_free(struct pythons *p);

/* Opens the programs of the threads that will be stopped: that takes some milliseconds. */
void pythons_before_stop(struct take *t);

/* Reads the functions of all threads that are stopped, for pythons_place. */
void pythons_read_stopped(struct take *t);

/* What a stack is with regard to Python. */
enum pythons_result {
	PYTHONS_NONE,           /* the thread executes no Python function */
	PYTHONS_PLACED,         /* the functions are in the stack now */
	PYTHONS_UNKNOWN,        /* it executes some, but the stack is as before */
	PYTHONS_MOVED,          /* likewise, since the thread has moved */
};

/* Puts the functions of a thread into its stack. */
enum pythons_result pythons_place(struct take *t, const struct threadscan_thread *thread,
				  struct snapshot_stack *stack);

/* Does a running thread execute functions?  They are unknown then. */
enum pythons_result pythons_look(struct take *t, const struct threadscan_thread *thread,
				 const struct snapshot_stack *stack);

/* Counts the result, and adds its label to the next entry of the snapshot. */
void pythons_note(struct take *t, enum pythons_result r);

#endif
