#ifndef CPROF_BASE_ERR_H
#define CPROF_BASE_ERR_H

/*
 * A failure on its way up: one line of what failed and, where there is one, a
 * second of what the user can do.  Functions that can fail take a
 * `struct err *` as their last parameter, return a negative errno and leave
 * their other outputs untouched.  They forward, and never print.
 */

#include "cprof-error.h"

#define ERR_TEXT_MAX CPROF_ERROR_TEXT_MAX

/* Records a failure whose text is complete, and returns -errnum.  e may be NULL. */
int err_set(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set for a request that is wrong in itself; returns -EINVAL. */
int err_usage(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As err_set, and appends ": " and the errno's text. */
int err_errno(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the remedy of the failure that e holds. */
void err_hint(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts "PREFIX: " before the text that e holds. */
void err_prefix(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
