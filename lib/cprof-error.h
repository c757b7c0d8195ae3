#ifndef CPROF_ERROR_H
#define CPROF_ERROR_H

/*
 * Why something failed: one line with the failure, and a remedy if there is one.  The caller owns
 * it, usually on the stack, and need not initialize it; NULL is allowed if the texts do not matter.
 * Only functions that return a negative errno write it.  Its layout never changes.
 */

#include <stdbool.h>

/* The library's own sources use a shorter name (base/err.h). */
#ifdef CPROF_INSIDE
#define cprof_error err
#endif

#define CPROF_ERROR_TEXT_MAX 1024

struct cprof_error {
	int code;                         /* negative errno, 0 if nothing failed */
	bool is_usage;                    /* the request is invalid on any machine */
	char what[CPROF_ERROR_TEXT_MAX];  /* "cannot open 'x': No such file or directory" */
	char hint[CPROF_ERROR_TEXT_MAX];  /* remedy, may have several lines; "": none */
};

#endif
