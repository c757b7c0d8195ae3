#include "cmd/hintwords.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *option, *words[HINTWORDS_N];
} table[] = {
	/* The agent always records all processes. */
	{ "record processes of your own (--scope task), or ",
	  { "", "record a process of your own (pid=), or " } },
	{ "--user, or ':u' after the event", { "':u' after the event", "':u' after the event" } },
	{ "-e cpu-clock", { "event = cpu-clock", "event=cpu-clock" } },
	{ "(-F, -c)", { "(rate)", "(hz=, period=)" } },
	{ "(-c)", { NULL, "(period=)" } },
	{ "use -c", { NULL, "use period=" } },
};

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

void hintwords_apply(struct err *e, enum hintwords_of of)
{
	char text[ERR_TEXT_MAX];
	size_t n = 0;
	for (const char *p = e->hint; *p && n < sizeof(text) - 1;) {
		size_t i = 0, n_rows = sizeof(table) / sizeof(*table);
		while (i < n_rows && !(table[i].words[of] && starts_with(p, table[i].option)))
			i++;
		if (i == n_rows) {
			text[n++] = *p++;
			continue;
		}
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", table[i].words[of]);
		p += strlen(table[i].option);
	}
	if (n > sizeof(text) - 1)
		n = sizeof(text) - 1;
	memcpy(e->hint, text, n);
	e->hint[n] = '\0';
}
