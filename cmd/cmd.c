/* The list of commands, and how they print errors and messages of the library. */

#include "cmd/cmd.h"

#include "base/err.h"
#include "cmd/caller.h"
#include "cmd/printable.h"

#include <stdio.h>
#include <string.h>

const struct cmd *const cmd_all[] = {
	&cmd_record,
	&cmd_top,
	&cmd_snapshot,
	&cmd_stat,
	&cmd_report,
	&cmd_import,
	&cmd_symbolize,
	&cmd_check,
	&cmd_merge,
	&cmd_convert,
	&cmd_serve,
	&cmd_agent,
	&cmd_push,
	&cmd_list,
	&cmd_doctor,
	NULL
};

int cmd_fail(const char *command, const struct err *e)
{
	fprintf(stderr, "cprof %s: ", command);
	printable_text(stderr, e->what);
	for (const char *line = e->hint; *line;) {
		char one[ERR_TEXT_MAX];
		size_t n = strcspn(line, "\n");
		snprintf(one, sizeof(one), "%.*s", (int)n, line);
		fputs("\n  ", stderr);
		printable_text(stderr, one);
		line += n + (line[n] == '\n');
	}
	/* For refusals that a capability would lift, not for those of files. */
	if (strstr(e->hint, "CAP_") && caller_remedy())
		fprintf(stderr, "\n  %s", caller_remedy());
	fputc('\n', stderr);
	return e->is_usage ? CMD_USAGE : CMD_FAILED;
}

void cmd_log_line(void *ctx, enum log_level level, const char *text)
{
	const char *command = ctx;
	fprintf(stderr, level == LOG_WARN ? "cprof %s: warning: " : "cprof %s: ", command);
	printable_text(stderr, text);
	fputc('\n', stderr);
}
