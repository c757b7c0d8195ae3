#ifndef CPROF_SYMBOLIZE_RUNTIME_WAITFRAMES_H
#define CPROF_SYMBOLIZE_RUNTIME_WAITFRAMES_H

/*
 * What the frames of a thread that waits say about the wait.  Names of functions are all that is
 * known, so a wait is recognised only where its code can mean nothing else; the others have no
 * label.
 */

#include <stdbool.h>
#include <stddef.h>

/* A function, inlined or not.  All are borrowed. */
struct waitframes_frame {
	const char *name;      /* "": unknown */
	const char *module;    /* the mapping's file; "": unknown */
	const char *source;    /* the source file; NULL or "": unknown */
};

/* So many frames, innermost first, decide. */
#define WAITFRAMES_MAX 64

struct waitframes_label { const char *key, *value; };

/* The label that the stack deserves, innermost frame first:
 *
 *   idle=event-loop, idle=pool   nothing is to be done: no request waits for this thread
 *   wait=gil, wait=monitor ...   what it waits for
 *
 * NULL: nothing is known.  is_whole: f has all frames of the stack; otherwise it has the outermost
 * one as its last.  thread: its name, or "". */
const struct waitframes_label *waitframes_label(const struct waitframes_frame *f, size_t n,
						bool is_whole, const char *thread);

/* With a function of this name in a profile of waits: what readers should know about it, beginning
 * with "waits of threads: ".  NULL: nothing. */
const char *waitframes_remark(const char *function);

/* Is this code that only waits on behalf of its caller: the kernel, the C library, and the wait
 * functions of runtimes? */
bool waitframes_is_call(const struct waitframes_frame *f);

#endif
