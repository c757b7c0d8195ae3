/*
 * argp knows neither -h nor near names.  So the words are looked at before argp parses them, with
 * argp's own tables: an option's value is not mistaken for an option.
 */
#include "cmd/suggest.h"

#include "base/vec.h"

#include <argp.h>
#include <string.h>

/* Longer words are not compared. */
#define WORD_BYTES_MAX 40u

/* Damerau and Levenshtein's distance, without overlapping swaps. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[WORD_BYTES_MAX + 1][WORD_BYTES_MAX + 1];
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			if (!i || !k) {
				row[i][k] = i + k;
				continue;
			}
			size_t least = row[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			if (row[i - 1][k] + 1 < least)
				least = row[i - 1][k] + 1;
			if (row[i][k - 1] + 1 < least)
				least = row[i][k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    row[i - 2][k - 2] + 1 < least)
				least = row[i - 2][k - 2] + 1;
			row[i][k] = least;
		}
	return row[n][m];
}

static const char *nearest(const char *given, size_t n_given, const char *const *word, size_t n)
{
	const char *best = NULL, *begun = NULL;
	size_t least = n_given / 3 + 1, n_begun = 0;
	if (!n_given || n_given > WORD_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t n_word = strlen(word[i]);
		if (n_word > WORD_BYTES_MAX)
			continue;
		if (n_word > n_given && strncmp(word[i], given, n_given) == 0) {
			begun = word[i];
			n_begun++;
		}
		size_t d = distance(given, n_given, word[i], n_word);
		if (d < least) {
			least = d;
			best = word[i];
		}
	}
	return n_begun == 1 ? begun : best;
}

const char *suggest_word(const char *given, const char *const *word, size_t n)
{
	return nearest(given, strlen(given), word, n);
}

/* ---- options ------------------------------------------------------------------------------- */

struct names {
	VEC(const char *) name;
	VEC(const struct argp_option *) option; /* of each name */
};

/* An alias takes a value if the option before it does. */
static bool add_names(struct names *to, const struct argp *argp)
{
	const struct argp_option *main = NULL, *o = argp->options;
	for (; o && (o->name || o->key || o->doc); o++) {
		main = o->flags & OPTION_ALIAS && main ? main : o;
		if (o->name && (!VEC_PUSH(&to->name, o->name) || !VEC_PUSH(&to->option, main)))
			return false;
	}
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		if (!add_names(to, c->argp))
			return false;
	return true;
}

/* Does short option `key` take a value?  Its own value may follow in the same word. */
static bool takes_value(const struct argp *argp, int key)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (o->key == key)
			return o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		if (takes_value(c->argp, key))
			return true;
	return false;
}

static bool is_one(const char *word, size_t n, const char *name)
{
	return strlen(name) == n && strncmp(word, name, n) == 0;
}

/* Looks at "--name" or "--name=value"; *ret_skip: a value follows. */
static struct suggest look_long(const struct names *names, const char *word, bool *ret_skip)
{
	const char *name = word + 2;
	size_t n = strcspn(name, "=");
	if (is_one(name, n, "version"))
		return (struct suggest){ .kind = SUGGEST_VERSION };
	if (is_one(name, n, "help") || is_one(name, n, "usage"))
		return (struct suggest){ 0 };
	for (size_t i = 0; i < names->name.n; i++) {
		const struct argp_option *o = names->option.v[i];
		/* getopt accepts the beginning of a name, too */
		if (strncmp(names->name.v[i], name, n) != 0)
			continue;
		*ret_skip = o->arg && !(o->flags & OPTION_ARG_OPTIONAL) && !name[n];
		return (struct suggest){ 0 };
	}
	return (struct suggest){ .kind = SUGGEST_OPTION, .given = word, .n_given = (int)n + 2,
				 .near = nearest(name, n, names->name.v, names->name.n) };
}

static bool has_key(const struct argp *argp, int key)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (o->key == key)
			return true;
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		if (has_key(c->argp, key))
			return true;
	return false;
}

/* Looks at "-abc". */
static struct suggest look_short(const struct argp *argp, const char *word, bool *ret_skip)
{
	if (strcmp(word, "-h") == 0)
		return (struct suggest){ .kind = SUGGEST_HELP };
	if (strcmp(word, "-V") == 0)
		return (struct suggest){ .kind = SUGGEST_VERSION };
	/* perf's habits: -i FILE, and stat's -I 100, -x, and -d */
	if (strchr("iIxd", word[1]) && !has_key(argp, word[1]))
		return (struct suggest){ .kind = SUGGEST_OPTION, .given = word, .n_given = 2 };
	for (const char *key = word + 1; *key; key++)
		if (takes_value(argp, *key)) {
			*ret_skip = !key[1];
			break;
		}
	return (struct suggest){ 0 };
}

struct suggest suggest_options(const struct argp *argp, char *const *argv, bool stops_at_word)
{
	struct names names = { 0 };
	struct suggest found = { 0 };
	bool ok = add_names(&names, argp);
	for (size_t i = 0; ok && argv[i] && found.kind == SUGGEST_NOTHING; i++) {
		bool skip = false;
		const char *word = argv[i];
		if (strcmp(word, "--") == 0)
			break;
		if (word[0] != '-' || !word[1]) {
			if (stops_at_word)
				break;
			continue;
		}
		found = word[1] == '-' ? look_long(&names, word, &skip) :
					 look_short(argp, word, &skip);
		if (skip && !argv[i + 1] && strcmp(word, "-p") == 0)
			found.kind = SUGGEST_PROCESS;
		if (skip && argv[i + 1])
			i++;
	}
	VEC_FREE(&names.name);
	VEC_FREE(&names.option);
	return found;
}
