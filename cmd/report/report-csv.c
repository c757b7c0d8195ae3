#include "cmd/report/report.h"

#include "cmd/printable.h"

#include <string.h>

void report_csv_text(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")] && text[0] != ' ') {
		printable_text(to, text);
		return;
	}
	fputc('"', to);
	for (const char *p = text; *p;) {
		char piece[256];
		size_t n = strcspn(p, "\"");
		n = n > sizeof(piece) - 1 ? sizeof(piece) - 1 : n;
		/* Do not split a multibyte character. */
		while (n > 0 && p[n] && ((unsigned char)p[n] & 0xc0) == 0x80 && p[n] != '"')
			n--;
		memcpy(piece, p, n);
		piece[n] = '\0';
		printable_text(to, piece);
		p += n;
		if (*p == '"') {
			fputs("\"\"", to);
			p++;
		} else if (n == 0 && *p) {
			fputc('?', to);
			p++;
		}
	}
	fputc('"', to);
}
