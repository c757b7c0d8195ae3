#ifndef CPROF_BASE_ERR_H
#define CPROF_BASE_ERR_H

/*
 * A failure on its way up: one line of what failed and, where there is one, a
 * second of what the user can do.  Functions that can fail take a
 * `struct err *` as their last parameter, return a negative errno and leave
 * their other outputs untouched.  They forward, and never print.
 */

#include <stdbool.h>

#define ERR_TEXT_MAX 1024

struct err {
	int code;                 /* negative errno, 0 when nothing failed */
	bool is_usage;            /* the request itself is wrong, on every machine */
	char what[ERR_TEXT_MAX];  /* "cannot open 'x': No such file or directory" */
	char hint[ERR_TEXT_MAX];  /* remedy, "" when there is none; may hold several lines */
};

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
