/* One buffer, written when full: writes are few and large however small the pieces are. */

#include "view/convert/emit.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void emit_open(struct emit *o, int (*write)(void *ctx, const void *data, size_t n_bytes),
	       void *ctx)
{
	o->write = write;
	o->ctx = ctx;
	o->n = 0;
	o->code = 0;
}

static void flush(struct emit *o)
{
	if (o->code == 0 && o->n > 0)
		o->code = o->write(o->ctx, o->buffer, o->n);
	o->n = 0;
}

void emit_bytes(struct emit *o, const char *s, size_t n_bytes)
{
	while (n_bytes > 0) {
		size_t room = sizeof(o->buffer) - o->n;
		size_t k = n_bytes < room ? n_bytes : room;
		memcpy(o->buffer + o->n, s, k);
		o->n += k;
		s += k;
		n_bytes -= k;
		if (o->n == sizeof(o->buffer))
			flush(o);
	}
}

void emit_text(struct emit *o, const char *s)
{
	emit_bytes(o, s, strlen(s));
}

void emit_int(struct emit *o, int64_t value)
{
	emit_format(o, "%" PRId64, value);
}

void emit_format(struct emit *o, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert(n >= 0 && (size_t)n < sizeof(text));
	emit_bytes(o, text, (size_t)n);
}

/* A copy as valid UTF-8, freed by the caller; NULL, with o failed, if out of memory. */
static char *clean_copy(struct emit *o, const char *s)
{
	size_t n = strlen(s);
	char *copy = malloc(UTF8_CLEAN_MAX(n) + 1);
	if (copy)
		copy[utf8_clean(copy, s, n)] = '\0';
	else if (o->code == 0)
		o->code = -ENOMEM;
	return copy;
}

void emit_json(struct emit *o, const char *s)
{
	CLEANUP_FREE char *copy = clean_copy(o, s);
	emit_bytes(o, "\"", 1);
	for (const char *p = copy; p && *p;) {
		size_t n = 0, n_control = 0;
		uint32_t control;
		while (p[n] && p[n] != '"' && p[n] != '\\' &&
		       !(n_control = utf8_control(p + n, &control)))
			n++;
		emit_bytes(o, p, n);
		p += n;
		if (*p == '"' || *p == '\\')
			emit_format(o, "\\%c", *p++);
		else if (*p)
			emit_format(o, "\\u%04x", control);
		p += n_control;
	}
	emit_bytes(o, "\"", 1);
}

void emit_line(struct emit *o, const char *s, const char *forbidden)
{
	CLEANUP_FREE char *copy = clean_copy(o, s);
	char *to = copy;
	for (const char *p = copy; p && *p;) {
		uint32_t control;
		size_t n = utf8_control(p, &control);
		*to++ = n || strchr(forbidden, *p) ? '?' : *p;
		p += n ? n : 1;
	}
	if (copy)
		emit_bytes(o, copy, (size_t)(to - copy));
}

int emit_finish(struct emit *o, struct err *e)
{
	flush(o);
	return o->code < 0 ? err_errno(e, -o->code, "cannot write the output") : 0;
}
