#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int errnum, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(e->what, sizeof(e->what), fmt, ap);
		va_end(ap);
		e->code = -errnum;
		e->is_usage = false;
		e->hint[0] = '\0';
	}
	return -errnum;
}

int err_usage(struct err *e, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(e->what, sizeof(e->what), fmt, ap);
		va_end(ap);
		e->code = -EINVAL;
		e->is_usage = true;
		e->hint[0] = '\0';
	}
	return -EINVAL;
}

int err_errno(struct err *e, int errnum, const char *fmt, ...)
{
	if (e) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(e->what, sizeof(e->what), fmt, ap);
		va_end(ap);
		size_t n = strlen(e->what);
		snprintf(e->what + n, sizeof(e->what) - n, ": %s", strerror(errnum));
		e->code = -errnum;
		e->is_usage = false;
		e->hint[0] = '\0';
	}
	return -errnum;
}

void err_hint(struct err *e, const char *fmt, ...)
{
	if (!e)
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

void err_prefix(struct err *e, const char *fmt, ...)
{
	if (!e)
		return;
	char text[2 * ERR_TEXT_MAX];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, ERR_TEXT_MAX, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n >= ERR_TEXT_MAX)
		n = ERR_TEXT_MAX - 1;
	snprintf(text + n, sizeof(text) - (size_t)n, ": %s", e->what);
	memcpy(e->what, text, sizeof(e->what) - 1);
	e->what[sizeof(e->what) - 1] = '\0';
}
