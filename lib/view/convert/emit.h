#ifndef CPROF_VIEW_CONVERT_EMIT_H
#define CPROF_VIEW_CONVERT_EMIT_H

/*
 * Buffered text output.  Errors stick: after the first failed write all calls do nothing, and
 * emit_finish reports the failure.
 */

#include <stddef.h>
#include <stdint.h>

struct err;

#define EMIT_BUFFER_BYTES 65536

struct emit {
	int (*write)(void *ctx, const void *data, size_t n_bytes);  /* 0 or -errno */
	void *ctx;
	size_t n;
	int code;                     /* the first failure */
	char buffer[EMIT_BUFFER_BYTES];
};

void emit_open(struct emit *o, int (*write)(void *ctx, const void *data, size_t n_bytes),
	       void *ctx);

void emit_bytes(struct emit *o, const char *s, size_t n_bytes);
void emit_text(struct emit *o, const char *s);
void emit_int(struct emit *o, int64_t value);
/* The result must not exceed 255 bytes. */
void emit_format(struct emit *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes any bytes as a quoted JSON string: valid UTF-8, control characters escaped. */
void emit_json(struct emit *o, const char *s);

/* Writes any bytes as part of a line: valid UTF-8; control characters, and those in `forbidden`,
 * become '?'. */
void emit_line(struct emit *o, const char *s, const char *forbidden);

/* Writes the rest.  0, or the first failure as -errno with e set. */
int emit_finish(struct emit *o, struct err *e);

#endif
