#include "cmd/printable.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdbool.h>
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
	for (const unsigned char *p = (unsigned char *)copy; *p; p++) {
		/* U+0080 to U+009f are control characters, too. */
		bool second_range = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f;
		if (second_range)
			p++;
		fputc(second_range || *p < 0x20 || *p == 0x7f ? '?' : *p, to);
	}
}

void printable_json(FILE *to, const char *s)
{
	CLEANUP_FREE char *copy = clean_copy(s);
	fputc('"', to);
	for (const unsigned char *p = (unsigned char *)copy; p && *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(to, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(to, "\\u%04x", *p);
		else
			fputc(*p, to);
	}
	fputc('"', to);
}
