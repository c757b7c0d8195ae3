#ifndef CPROF_SOURCE_TRACEPOINT_H
#define CPROF_SOURCE_TRACEPOINT_H

/*
 * The data of tracepoints, laid out as the kernel's description says: the file "format" of the
 * tracepoint in tracefs (Documentation/trace/events.rst), which recordings contain.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number in the data; n_bytes 0: there is no such field. */
struct tracepoint_field {
	uint32_t offset, n_bytes;
};

/* Is the text the description of this tracepoint ("sched_switch")? */
bool tracepoint_is(const char *text, const char *name);

/* The field of that name ("common_flags").  False: it is missing, or is not a number. */
bool tracepoint_field(const char *text, const char *name, struct tracepoint_field *ret);

/* Its value as an unsigned number; the bytes are in the other byte order if is_swapped.  False: the
 * data end before it. */
bool tracepoint_value(const struct tracepoint_field *f, const void *raw, size_t n_bytes,
		      bool is_swapped, uint64_t *ret);

/*
 * Evaluates a constant expression of C at *at, as print formats have them: numbers, parentheses and
 * + - << & |.  Sets *at to what follows it.  False: there is none, or it has names.
 */
bool tracepoint_constant(const char **at, uint64_t *ret);

#endif
