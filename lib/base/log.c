#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void log_line(const struct log *log, enum log_level level, const char *fmt, ...)
{
	if (!log || !log->line || level > log->max)
		return;
	char text[2048];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log->line(log->ctx, level, text);
}
