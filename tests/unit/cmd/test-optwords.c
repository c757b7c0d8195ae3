/* Sets of words: lookup, their text in help and messages, and help texts that name a set. */
#include "cmd/optwords.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <string.h>

static const struct optword colours[] = {
	{ "red", 4, " (the default)" }, { "green", 2 }, { "blue", 1 }, { 0 }
};
static const struct optwords colour = { .name = "colour", .word = colours };
static const struct optwords mixed = {
	.name = "mixed", .word = colours, .other = "#RRGGBB", .is_list = true,
};

static const char *digit_at(size_t i)
{
	static const char *const digits[] = { "zero", "one" };
	return i < 2 ? digits[i] : NULL;
}
static const struct optwords digit = { .name = "digit", .name_at = digit_at };

const struct optwords *const optwords_sets[] = { &colour, &mixed, &digit, NULL };

static void test_find(void)
{
	int value = -1;
	tap_ok(optwords_find(&colour, "green", 5, &value) && value == 2, "a word has its value");
	tap_ok(!optwords_find(&colour, "gre", 3, &value), "the start of a word is refused");
	tap_ok(!optwords_find(&colour, "greens", 6, &value), "a longer text is no word");
	tap_ok(optwords_find(&colour, "blue,x", 4, &value) && value == 1,
	       "only the given characters count");
	tap_ok(optwords_find(&digit, "one", 3, &value) && value == 1,
	       "the value of a function's word is its number");
}

static void test_text(void)
{
	char text[OPTWORDS_TEXT_MAX];
	tap_str(optwords_text(&colour, false, text), "red, green or blue", "all words");
	tap_str(optwords_text(&colour, true, text), "red (the default), green or blue",
		"with notes");
	tap_str(optwords_text(&mixed, false, text), "red, green, blue or #RRGGBB",
		"with other values");
	tap_str(optwords_text(&digit, true, text), "zero or one", "words of a function");
}

static void test_help(void)
{
	const char *plain = "Nothing special", *unknown = "In {braces}";
	char *text = optwords_help(0, "Paint it {colour}; default: red", NULL);
	tap_str(text, "Paint it red (the default), green or blue; default: red",
		"help lists the words of the set that it names");
	free(text);
	tap_ok(optwords_help(0, plain, NULL) == plain, "help without a set stays as it is");
	tap_ok(optwords_help(0, unknown, NULL) == unknown, "help with an unknown set, too");
	tap_ok(!optwords_help(0, NULL, NULL), "an absent text stays absent");
}

int main(void)
{
	test_find();
	test_text();
	test_help();
	return tap_done();
}
