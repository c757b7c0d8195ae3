#include "cmd/hintwords.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The server records whole CPUs if a request names no process; the agent always does. */
#define ALL_PROCESSES "leave out pid=, comm= and cgroup="

static const struct {
	const char *option, *words[HINTWORDS_N];
	bool ends_line;         /* the rest of the line is part of the advice */
} table[] = {
	/* The agent always records all processes. */
	{ "record processes of your own (--scope task), or ",
	  { "", "record a process of your own (pid=), or " } },
	{ "record whole CPUs, which needs nothing from it: --scope cpu",
	  { "record whole CPUs", ALL_PROCESSES ": whole CPUs need nothing from it" } },
	{ ", or instead of --scope task use --scope cpu (CAP_PERFMON or root)",
	  { "", ", or " ALL_PROCESSES " (CAP_PERFMON or root)" } },
	{ "with --scope task each thread", { "each thread", "each thread" } },
	{ "use --scope cpu", { "record whole CPUs", ALL_PROCESSES } },
	{ ", or leave them out: --no-inherit", { "", "" } },
	/* Neither samples groups. */
	{ "read it at the samples of an event that can: -e '{",
	  { "choose one that can, such as 'event = cpu-clock'",
	    "choose one that can, such as 'event=cpu-clock'" }, true },
	{ "--user, or ':u' after the event", { "':u' after the event", "':u' after the event" } },
	{ "--user and ':u' exclude the kernel, --kernel and ':k' exclude user code",
	  { "':u' excludes the kernel, ':k' excludes user code",
	    "':u' excludes the kernel, ':k' excludes user code" } },
	{ "':u' and --user", { "':u'", "':u'" } },
	{ "':k' and --kernel", { "':k'", "':k'" } },
	{ "use '--call-graph dwarf,SIZE' with another size, or fp",
	  { "add '/call-graph=fp/' to the event", "add '/call-graph=fp/' to the event" } },
	{ "use '--call-graph fp'",
	  { "add '/call-graph=fp/' to the event", "add '/call-graph=fp/' to the event" } },
	{ "-e cpu-clock", { "event = cpu-clock", "event=cpu-clock" } },
	{ "(-F, -c)", { "(rate)", "(hz=, period=)" } },
	{ "(-F)", { "(rate)", "(hz=)" } },
	/* The agent has no period. */
	{ ", or a period (-c)", { "", ", or a period (period=)" } },
	{ " (-c)", { "", " (period=)" } },
	{ ": use -c", { "", ": use period=" } },
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
		if (table[i].ends_line)
			p += strcspn(p, "\n");
	}
	if (n > sizeof(text) - 1)
		n = sizeof(text) - 1;
	memcpy(e->hint, text, n);
	e->hint[n] = '\0';
}
