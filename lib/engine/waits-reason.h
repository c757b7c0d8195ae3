#ifndef CPROF_ENGINE_WAITS_REASON_H
#define CPROF_ENGINE_WAITS_REASON_H

/* What threads wait for, by the functions of the kernel that they wait in. */

#include <stdbool.h>

#include "engine/waits.h"

struct record;

/*
 * Functions of the kernel in which threads wait, and for what.  futex(2) serves all locks,
 * conditions and joins; io_schedule() is where the kernel itself counts waits for input and output;
 * clone(2) and its relatives are kernel_clone(), _do_fork() before Linux 5.10.  Without the first
 * one, locks cannot be recognized.
 */
struct waits_reason_function { const char *name; enum waits_reason reason; bool has_address; };
#define WAITS_N_FUNCTIONS 7
extern const struct waits_reason_function waits_reason_function[WAITS_N_FUNCTIONS];

/* What the thread of SAMPLE r waits for, by the kernel's part of its callchain. */
enum waits_reason waits_reason_of(const struct waits *w, const struct record *r);

/* Likewise: the code; NULL: unknown. */
const struct waits_code *waits_reason_code(const struct waits *w, const struct record *r);

#endif
