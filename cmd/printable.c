#include "cmd/printable.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A valid copy with a NUL; the caller frees it.  NULL when memory is out. */
static char *clean_copy(const char *s)
{
	size_t n = strlen(s);
	char *copy = malloc(UTF8_CLEAN_MAX(n) + 1);
	if (copy)
		copy[utf8_clean(copy, s, n)] = '\0';
	return copy;
}

void printable_text(FILE *to, const char *s)
{
	CLEANUP_FREE char *copy = clean_copy(s);
	if (!copy) {
		fputc('?', to);
		return;
	}
	for (const char *p = copy; *p;) {
		uint32_t c;
		size_t n = utf8_control(p, &c);
		fputc(n ? '?' : *p, to);
		p += n ? n : 1;
	}
}

void printable_json(FILE *to, const char *s)
{
	CLEANUP_FREE char *copy = clean_copy(s);
	fputc('"', to);
	for (const char *p = copy; p && *p;) {
		uint32_t c;
		size_t n = utf8_control(p, &c);
		if (n)
			fprintf(to, "\\u%04x", c);
		else if (*p == '"' || *p == '\\')
			fprintf(to, "\\%c", *p);
		else
			fputc(*p, to);
		p += n ? n : 1;
	}
	fputc('"', to);
}
