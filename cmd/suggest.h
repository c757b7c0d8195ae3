#ifndef CPROF_CMD_SUGGEST_H
#define CPROF_CMD_SUGGEST_H

/* Which word did the user mean? */

#include <stdbool.h>
#include <stddef.h>

struct argp;

/* The word of the n that `given` most probably is: the only one that it begins, or the nearest one
 * by insertions, deletions, replacements and swaps, at most one for every three characters.  NULL:
 * none is near. */
const char *suggest_word(const char *given, const char *const *word, size_t n);

enum suggest_kind {
	SUGGEST_NOTHING,   /* argp may parse the line */
	SUGGEST_HELP,      /* -h */
	SUGGEST_VERSION,   /* --version, -V */
	SUGGEST_OPTION,    /* an unknown long option */
	SUGGEST_PROCESS,   /* -p ends the line, as in -p $(pidof NAME) without such a process */
};

struct suggest {
	enum suggest_kind kind;
	const char *given; /* SUGGEST_OPTION: the word with its dashes, up to any '='; borrowed */
	int n_given;       /* its length */
	const char *near;  /* the name of an option, without dashes; NULL: none is near */
};

/* Looks for the first word of argv, which ends with NULL and does not include the command, that
 * argp does not know.  stops_at_word: the first word that is not an option begins a command. */
struct suggest suggest_options(const struct argp *argp, char *const *argv, bool stops_at_word);

#endif
