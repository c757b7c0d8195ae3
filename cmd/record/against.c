/* A command without any character that means something to a shell is split at blanks, since a shell
 * would be part of the recording. */

#include "cmd/record/against.h"

#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"
#define SHELL_CHARS "|&;<>()$`\\\"'*?[]#~=%{}!"

static char **split(char *text)
{
	size_t n = 0;
	char **word = calloc(strlen(text) / 2 + 2, sizeof(*word));
	for (char *rest = text, *w; word && (w = strsep(&rest, BLANKS));)
		if (*w)
			word[n++] = w;
	return word;
}

static char **by_shell(char *text)
{
	char **word = calloc(4, sizeof(*word));
	static char shell[] = "/bin/sh", option[] = "-c";
	if (word) {
		word[0] = shell;
		word[1] = option;
		word[2] = text;
	}
	return word;
}

void against_parse(struct against *a, struct argp_state *state, const char *arg)
{
	const char *sign = strchr(arg, '=');
	if (a->text)
		argp_error(state, "second --against");
	if (!sign || sign == arg || !sign[1 + strspn(sign + 1, BLANKS)])
		argp_error(state, "--against '%s' is not FILE=COMMAND", arg);
	a->text = strdup(arg);
	if (a->text) {
		char *command = a->text + (sign - arg) + 1;
		command[-1] = 0;
		a->output = a->text;
		a->command = strpbrk(command, SHELL_CHARS) ? by_shell(command) : split(command);
	}
	if (!a->text || !a->command)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
}

void against_done(struct against *a)
{
	free(a->command);
	free(a->text);
	*a = (struct against){ 0 };
}
