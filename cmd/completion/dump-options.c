/*
 * Runs while cprof is built, and prints the tables from which completions.py makes the completions
 * of the shells.  Each command has a line
 *
 *     command NAME HELP ARGUMENTS
 *
 * followed by a line for each of its options:
 *
 *     option LONG SHORT ARGUMENT KIND WORDS BEFORE AFTER
 *
 * with tabs between the fields.  KIND is "flag" without an argument, else "required" or "optional".
 * WORDS are the values of the argument, separated by blanks; if it is a list, they begin with ",".
 * BEFORE and AFTER are the help text around the words.
 */
#include "cmd/cmd.h"
#include "cmd/optwords.h"

#include <argp.h>
#include <ctype.h>
#include <stdio.h>

/* The words of the set that a help text names, and the text before and after them. */
static void print_help(const struct argp_option *o)
{
	const char *begin, *end, *name;
	const struct optwords *w = optwords_named(o->doc, &begin, &end);
	if (w && w->is_list)
		fputs(", ", stdout);
	for (size_t i = 0; w && (name = optwords_at(w, i, NULL)); i++)
		printf("%s%s", i ? " " : "", name);
	if (w)
		printf("\t%.*s\t%s\n", (int)(begin - o->doc), o->doc, end);
	else
		printf("\t%s\t\n", o->doc);
}

static void print_options(const struct argp *argp)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
		bool has_short = o->key > 0 && o->key < 256 && isprint(o->key);
		if (!o->name && !has_short)
			continue;
		printf("option\t%s\t%.1s\t%s\t%s\t", o->name ? o->name : "",
		       has_short ? (char[]){ (char)o->key } : "", o->arg ? o->arg : "",
		       !o->arg ? "flag" : o->flags & OPTION_ARG_OPTIONAL ? "optional" : "required");
		print_help(o);
	}
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		print_options(c->argp);
}

int main(void)
{
	for (const struct cmd *const *c = cmd_all; *c; c++) {
		const char *args = (*c)->argp->args_doc;
		printf("command\t%s\t%s\t", (*c)->name, (*c)->help);
		for (; args && *args; args++)
			putchar(*args == '\n' ? ' ' : *args);
		putchar('\n');
		print_options((*c)->argp);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
