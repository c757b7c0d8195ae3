#ifndef CPROF_BASE_ERR_H
#define CPROF_BASE_ERR_H

/*
 * An error to report: one line that says what failed and, if there is a remedy, one that says what
 * the user can do.  A function that can fail takes a `struct err *` as its last parameter, returns
 * a negative errno and leaves its other outputs untouched.  It passes errors on and never prints.
 */

#include "cprof-error.h"

#define ERR_TEXT_MAX CPROF_ERROR_TEXT_MAX

/* Sets the text of an error and returns -errnum.  e may be NULL. */
int err_set(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Like err_set, for a request that can never work; returns -EINVAL. */
int err_usage(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Like err_set; appends ": " and the text of the errno. */
int err_errno(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a remedy to the error in e. */
void err_hint(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the remedy for a lack of descriptors (EMFILE, ENFILE); does nothing for other errors. */
void err_hint_files(struct err *e, int errnum);

/* Puts "PREFIX: " before the text of e. */
void err_prefix(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
