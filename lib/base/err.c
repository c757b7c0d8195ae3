#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void set(struct err *e, int errnum, bool is_usage, const char *fmt, va_list ap)
{
	vsnprintf(e->what, sizeof(e->what), fmt, ap);
	e->code = -errnum;
	e->is_usage = is_usage;
	e->hint[0] = '\0';
}

int err_set(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (e)
		set(e, errnum, false, fmt, ap);
	va_end(ap);
	return -errnum;
}

int err_usage(struct err *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (e)
		set(e, EINVAL, true, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int err_errno(struct err *e, int errnum, const char *fmt, ...)
{
	if (!e)
		return -errnum;
	va_list ap;
	va_start(ap, fmt);
	set(e, errnum, false, fmt, ap);
	va_end(ap);
	size_t n = strlen(e->what);
	snprintf(e->what + n, sizeof(e->what) - n, ": %s", strerror(errnum));
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

void err_hint_files(struct err *e, int errnum)
{
	if (errnum == EMFILE)
		err_hint(e, "raise this shell's limit on open files: ulimit -n 256");
	else if (errnum == ENFILE)
		err_hint(e, "the whole machine has too many open files: raise sysctl fs.file-max");
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
