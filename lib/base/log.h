#ifndef CPROF_BASE_LOG_H
#define CPROF_BASE_LOG_H

/*
 * Messages to the user.  The library never prints; it passes lines to a function of its caller.
 * Nothing is logged per sample.
 */

enum log_level {
	LOG_WARN,     /* shown unless -q: a request could not be met */
	LOG_NOTE,     /* shown unless -q: a choice that the user should know of */
	LOG_EXPLAIN,  /* shown with -v: which attr, which fallback, which symbol source */
};

struct log {
	void (*line)(void *ctx, enum log_level level, const char *text);
	void *ctx;
	enum log_level max;  /* messages above this level are not formatted */
};

/* Formats one line, without a newline, and passes it to log->line.  log may be NULL. */
void log_line(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
