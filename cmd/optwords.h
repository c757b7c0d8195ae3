#ifndef CPROF_CMD_OPTWORDS_H
#define CPROF_CMD_OPTWORDS_H

/*
 * The words that an option takes.  Each set of words is defined once, in optsets.c; parsing, help,
 * error messages and the shells' completions use that definition.  An option's help names its set
 * in braces: "How events are opened: {scope}".
 */

#include <stdbool.h>
#include <stddef.h>

struct argp_state;

struct optword {
	const char *name;          /* NULL ends a set */
	int value;
	const char *note;          /* follows the name in help; may be NULL */
};

struct optwords {
	const char *name;          /* of the set */
	const struct optword *word;
	const char *(*name_at)(size_t i);  /* in place of `word`: NULL at the end; value i */
	const char *other;         /* what the option takes besides these words; may be NULL */
	bool is_list;              /* several words, separated by commas */
};

/* All sets, ending with NULL; optsets.c. */
extern const struct optwords *const optwords_sets[];

/* The i-th word; NULL after the last one.  ret_value may be NULL. */
const char *optwords_at(const struct optwords *w, size_t i, int *ret_value);

/* False when the n characters of text are no word of the set. */
bool optwords_find(const struct optwords *w, const char *text, size_t n, int *ret_value);

/* The value of a word; reports anything else with argp_error. */
int optwords_parse(const struct optwords *w, struct argp_state *state, const char *option,
		   const char *arg);

/* The same for a list of words; the bits of all their values, of name_at 1 << i. */
unsigned optwords_parse_list(const struct optwords *w, struct argp_state *state,
			     const char *option, const char *arg);

/* "auto, task or cgroup", with_notes as in help. */
#define OPTWORDS_TEXT_MAX 512
const char *optwords_text(const struct optwords *w, bool with_notes, char buf[OPTWORDS_TEXT_MAX]);

/* The first set that a help text names; *ret_begin and *ret_end enclose its braces.  NULL: none. */
const struct optwords *optwords_named(const char *help, const char **ret_begin,
				      const char **ret_end);

/* A help_filter for struct argp: puts the words in place of "{set}". */
char *optwords_help(int key, const char *text, void *input);

#endif
