#ifndef CPROF_ERROR_H
#define CPROF_ERROR_H

/*
 * Why something failed: one line of what, and where there is one a remedy.  The caller owns it, on
 * its stack mostly, and need not set it up; a NULL is taken where the texts do not matter.  Written
 * by functions that return a negative errno, and by those only.  Its layout never changes.
 */

#include <stdbool.h>

/* The library's own sources have a shorter name for it (base/err.h). */
#ifdef CPROF_INSIDE
#define cprof_error err
#endif

#define CPROF_ERROR_TEXT_MAX 1024

struct cprof_error {
	int code;                         /* negative errno, 0 when nothing failed */
	bool is_usage;                    /* the request itself is wrong, on every machine */
	char what[CPROF_ERROR_TEXT_MAX];  /* "cannot open 'x': No such file or directory" */
	char hint[CPROF_ERROR_TEXT_MAX];  /* remedy, "" none; may hold several lines */
};

#endif
