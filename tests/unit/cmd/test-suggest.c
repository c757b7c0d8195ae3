/* Near names of commands and options, and which words of a command line are options. */
#include "cmd/suggest.h"
#include "tests/unit/tap.h"

#include <argp.h>
#include <string.h>

static const char *const commands[] = { "record", "top", "report", "import", "merge", "check" };
#define N_COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct argp_option inner_options[] = {
	{ "freq", 'F', "HZ", 0, "", 0 },
	{ "quiet", 'q', NULL, 0, "", 0 },
	{ 0 }
};
static const struct argp inner = { .options = inner_options };
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "A group:", 1 },
	{ "duration", 256, "TIME", 0, "", 1 },
	{ "delay", 257, "TIME", 0, "", 1 },
	{ "wait", 0, NULL, OPTION_ALIAS, "", 1 },
	{ "color", 258, "WHEN", OPTION_ARG_OPTIONAL, "", 1 },
	{ NULL, 'D', "MS", 0, "", 1 },
	{ 0 }
};
static const struct argp_child children[] = { { &inner, 0, NULL, 0 }, { 0 } };
static const struct argp argp = { .options = options, .children = children };

static void near_word(const char *given, const char *want, const char *title)
{
	const char *near = suggest_word(given, commands, N_COMMANDS);
	tap_ok(want ? near && strcmp(near, want) == 0 : !near, "%s", title);
}

static void test_words(void)
{
	near_word("rec", "record", "the beginning of one word");
	near_word("rep", "report", "the beginning of another one");
	near_word("re", NULL, "the beginning of two words is ambiguous");
	near_word("recrod", "record", "two letters are swapped");
	near_word("reprot", "report", "two letters are swapped, and another word is near");
	near_word("chekc", "check", "a swap at the end");
	near_word("imports", "import", "one letter too many");
	near_word("annotate", NULL, "a word that is not near");
	near_word("", NULL, "an empty word");
	near_word("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL,
		  "a long word is not compared");
}

static struct suggest look(bool stops_at_word, const char *a, const char *b, const char *c)
{
	char *argv[] = { (char *)(size_t)a, (char *)(size_t)b, (char *)(size_t)c, NULL };
	return suggest_options(&argp, argv, stops_at_word);
}

static void test_options(void)
{
	struct suggest s = look(true, "--duraton", "3", NULL);
	tap_ok(s.kind == SUGGEST_OPTION && strcmp(s.near, "duration") == 0, "a near option");
	tap_int(s.n_given, 9, "the word's length");
	s = look(true, "--duraton=3", NULL, NULL);
	tap_ok(s.kind == SUGGEST_OPTION && s.n_given == 9, "its value is not a part of the word");
	s = look(true, "--fre", "--frq", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "a value is no option; the beginning of a name is one");
	s = look(true, "--qiet", NULL, NULL);
	tap_ok(s.kind == SUGGEST_OPTION && strcmp(s.near, "quiet") == 0, "an option of a child");
	s = look(true, "--zzzzzz", NULL, NULL);
	tap_ok(s.kind == SUGGEST_OPTION && !s.near, "an option that is not near any");
	s = look(true, "--wait", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "an alias takes the value of its option");
	s = look(true, "--color", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_OPTION, "an optional value is in the same word");
	s = look(true, "cmd", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "options of a recorded command are its own");
	s = look(false, "file", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_OPTION, "options may follow a file");
	s = look(false, "--", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "after -- there are no options");
	s = look(true, "-qF", "-h", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "the value of the last option in a cluster");
	s = look(true, "-qF99", "-h", NULL);
	tap_ok(s.kind == SUGGEST_HELP, "a value in the same word as its option");
	s = look(true, "-q", "--version", NULL);
	tap_ok(s.kind == SUGGEST_VERSION, "--version");
	s = look(true, "-V", NULL, NULL);
	tap_ok(s.kind == SUGGEST_VERSION, "-V");
	s = look(true, "--help", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_OPTION, "--help is known, the next one is not");
	s = look(true, "-", "--bad", NULL);
	tap_ok(s.kind == SUGGEST_NOTHING, "- is a word");
}

int main(void)
{
	test_words();
	test_options();
	return tap_done();
}
