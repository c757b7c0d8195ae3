#ifndef CPROF_SNAPSHOT_INTERPS_H
#define CPROF_SNAPSHOT_INTERPS_H

/* The functions of interpreters in threads that wait, or are stopped. */

#include <stdbool.h>
#include <stddef.h>

struct interps;
struct snapshot_stack;
struct take;
struct threadscan_thread;

/* NULL: no memory, or no functions are wanted. */
struct interps *interps_new(const struct take *t);
void interps_free(struct interps *p);

/* Opens the programs of the threads that will be stopped: that takes some milliseconds. */
void interps_before_stop(struct take *t);

/* Reads the functions of all threads that are stopped, for interps_place. */
void interps_read_stopped(struct take *t);

/* What a stack is with regard to an interpreter. */
enum interps_result {
	INTERPS_NONE,           /* the thread executes no function of one */
	INTERPS_PLACED,         /* the functions are in the stack now */
	INTERPS_UNKNOWN,        /* it executes some, but the stack is as before */
	INTERPS_MOVED,          /* likewise, since the thread has moved */
};

/* Puts the functions of a thread into its stack. */
enum interps_result interps_place(struct take *t, const struct threadscan_thread *thread,
				  struct snapshot_stack *stack);

/* Does a running thread execute functions?  They are unknown then. */
enum interps_result interps_look(struct take *t, const struct threadscan_thread *thread,
				 const struct snapshot_stack *stack);

/* Counts the result, and adds its label to the next entry of the snapshot. */
void interps_note(struct take *t, const struct threadscan_thread *thread, enum interps_result r);

#endif
