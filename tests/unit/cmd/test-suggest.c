/* Near names of commands and options, and which words of a command line are options. */
#include "cmd/suggest.h"
#include "tests/unit/tap.h"

#include <argp.h>
#include <stdint.h>
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

static const struct {
	bool stops_at_word;
	const char *argv[2];
	enum suggest_kind kind;
	const char *near, *title;
} lines[] = {
	{ true, { "--duraton", "3" }, SUGGEST_OPTION, "duration", "a near option" },
	{ true, { "--duraton=3" }, SUGGEST_OPTION, "duration", "a near option with its value" },
	{ true, { "--fre", "--frq" }, SUGGEST_NOTHING, NULL,
	  "a value is no option; the beginning of a name is one" },
	{ true, { "--qiet" }, SUGGEST_OPTION, "quiet", "an option of a child" },
	{ true, { "--zzzzzz" }, SUGGEST_OPTION, NULL, "an option that is not near any" },
	{ true, { "--wait", "--bad" }, SUGGEST_NOTHING, NULL,
	  "an alias takes the value of its option" },
	{ true, { "--color", "--bad" }, SUGGEST_OPTION, NULL,
	  "an optional value is in the same word" },
	{ true, { "cmd", "--bad" }, SUGGEST_NOTHING, NULL,
	  "options of a recorded command are its own" },
	{ false, { "file", "--bad" }, SUGGEST_OPTION, NULL, "options may follow a file" },
	{ false, { "--", "--bad" }, SUGGEST_NOTHING, NULL, "after -- there are no options" },
	{ true, { "-qF", "-h" }, SUGGEST_NOTHING, NULL,
	  "the value of the last option in a cluster" },
	{ true, { "-qF99", "-h" }, SUGGEST_HELP, NULL, "a value in the same word as its option" },
	{ true, { "-q", "--version" }, SUGGEST_VERSION, NULL, "--version" },
	{ true, { "-V" }, SUGGEST_VERSION, NULL, "-V" },
	{ true, { "--help", "--bad" }, SUGGEST_OPTION, NULL,
	  "--help is known, the next one is not" },
	{ true, { "-", "--bad" }, SUGGEST_NOTHING, NULL, "- is a word" },
};

static void test_options(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char *argv[] = { (char *)(uintptr_t)lines[i].argv[0],
				 (char *)(uintptr_t)lines[i].argv[1], NULL };
		struct suggest s = suggest_options(&argp, argv, lines[i].stops_at_word);
		bool is_near = lines[i].near ? s.near && strcmp(s.near, lines[i].near) == 0 :
					       !s.near;
		tap_ok(s.kind == lines[i].kind && is_near, "%s", lines[i].title);
		if (lines[i].near)
			tap_int(s.n_given, (int)strcspn(lines[i].argv[0], "="), "its length");
	}
}

int main(void)
{
	test_words();
	test_options();
	return tap_done();
}
