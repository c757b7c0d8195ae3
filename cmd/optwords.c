/* A set is either an array of words or a function that names them one by one. */

#include "cmd/optwords.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *optwords_at(const struct optwords *w, size_t i, int *ret_value)
{
	const char *name = w->name_at ? w->name_at(i) : w->word[i].name;
	if (name && ret_value)
		*ret_value = w->name_at ? (int)i : w->word[i].value;
	return name;
}

bool optwords_find(const struct optwords *w, const char *text, size_t n, int *ret_value)
{
	const char *name;
	for (size_t i = 0; (name = optwords_at(w, i, ret_value)); i++)
		if (strlen(name) == n && strncmp(name, text, n) == 0)
			return true;
	return false;
}

const char *optwords_text(const struct optwords *w, bool with_notes, char buf[OPTWORDS_TEXT_MAX])
{
	size_t n = 0, n_words = 0;
	const char *name;
	buf[0] = '\0';
	while (optwords_at(w, n_words, NULL))
		n_words++;
	for (size_t i = 0; (name = optwords_at(w, i, NULL)) && n < OPTWORDS_TEXT_MAX; i++) {
		const char *note = with_notes && w->word && w->word[i].note ? w->word[i].note : "";
		const char *before = i == 0 ? "" : i + 1 < n_words || w->other ? ", " : " or ";
		n += (size_t)snprintf(buf + n, OPTWORDS_TEXT_MAX - n, "%s%s%s", before, name, note);
	}
	if (w->other && n < OPTWORDS_TEXT_MAX)
		snprintf(buf + n, OPTWORDS_TEXT_MAX - n, " or %s", w->other);
	return buf;
}

static int refuse(const struct optwords *w, struct argp_state *state, const char *option,
		  const char *arg, size_t n)
{
	char text[OPTWORDS_TEXT_MAX];
	argp_error(state, "%s '%.*s': it must be %s", option, (int)n, arg,
		   optwords_text(w, false, text));
	return 0;
}

int optwords_parse(const struct optwords *w, struct argp_state *state, const char *option,
		   const char *arg)
{
	int value;
	return optwords_find(w, arg, strlen(arg), &value) ? value :
	       refuse(w, state, option, arg, strlen(arg));
}

unsigned optwords_parse_list(const struct optwords *w, struct argp_state *state,
			     const char *option, const char *arg)
{
	unsigned bits = 0;
	for (const char *p = arg;; p++) {
		size_t n = strcspn(p, ",");
		int value;
		if (!optwords_find(w, p, n, &value))
			value = refuse(w, state, option, p, n);
		unsigned bit = w->name_at ? 1u << value : (unsigned)value;
		/* "none" has no company. */
		if (!bit && strchr(arg, ','))
			refuse(w, state, option, arg, strlen(arg));
		bits |= bit;
		p += n;
		if (!*p)
			return bits;
	}
}

const struct optwords *optwords_named(const char *help, const char **ret_begin,
				      const char **ret_end)
{
	const char *begin = strchr(help, '{'), *end = begin ? strchr(begin, '}') : NULL;
	if (!end)
		return NULL;
	size_t n = (size_t)(end - begin) - 1;
	for (const struct optwords *const *w = optwords_sets; *w; w++) {
		if (strlen((*w)->name) != n || strncmp((*w)->name, begin + 1, n) != 0)
			continue;
		*ret_begin = begin;
		*ret_end = end + 1;
		return *w;
	}
	return NULL;
}

char *optwords_help(int key, const char *text, void *input)
{
	(void)key;
	(void)input;
	const char *begin, *end;
	const struct optwords *w = text ? optwords_named(text, &begin, &end) : NULL;
	char words[OPTWORDS_TEXT_MAX], *whole = NULL;
	if (w && asprintf(&whole, "%.*s%s%s", (int)(begin - text), text,
			  optwords_text(w, true, words), end) >= 0)
		return whole;
	return (char *)text;
}
