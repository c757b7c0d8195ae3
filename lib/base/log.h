#ifndef CPROF_BASE_LOG_H
#define CPROF_BASE_LOG_H

/*
 * Where explanations go.  The library never prints: it hands lines to the sink
 * that its caller gave.  Never used once per sample.
 */

enum log_level {
	LOG_WARN,     /* shown unless -q: something is not as the user asked */
	LOG_NOTE,     /* shown unless -q: a choice that the user should know */
	LOG_EXPLAIN,  /* shown with -v: which attr, which fallback, which symbol source */
};

struct log {
	void (*line)(void *ctx, enum log_level level, const char *text);
	void *ctx;
	enum log_level max;  /* lines above this level are not even formatted */
};

/* Formats one line (no newline) and hands it to the sink; log may be NULL. */
void log_line(const struct log *log, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
