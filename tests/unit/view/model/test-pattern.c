/* Regular expressions of users, in Go's dialect, and of files, which must be cheap. */

#include "base/err.h"
#include "tap.h"
#include "view/model/pattern.h"

#include <errno.h>

static void matches(const char *regex, const char *text, bool want)
{
	struct pattern p = { 0 };
	struct err e = { 0 };
	bool is_valid = pattern_compile(&p, "--focus", regex, &e) == 0;
	tap_ok(is_valid && pattern_matches(&p, text) == want, "'%s' %s '%s'", regex,
	       want ? "matches" : "does not match", text);
	pattern_done(&p);
}

static void refused(const char *regex)
{
	struct pattern p = { 0 };
	tap_ok(!pattern_compile_foreign(&p, regex), "'%s' from a file is refused", regex);
	pattern_done(&p);
}

int main(void)
{
	matches("ab+c", "xabbcx", true);
	matches("^\\d+$", "123", true);
	matches("\\D", "123", false);
	matches("(?:a|b)c", "bc", true);
	matches("(?i)MAIN", "main", true);
	matches("[\\d]", "d", true);
	matches("[]a]", "]", true);
	matches("\\.", "x", false);
	struct pattern p = { 0 };
	struct err e = { 0 };
	tap_int(pattern_compile(&p, "--hide", "(", &e), -EINVAL, "a bad expression");
	tap_ok(e.is_usage && strstr(e.what, "--hide '('"), "the message names the option");
	tap_ok(pattern_compile_foreign(&p, "malloc|std::.*") && pattern_matches(&p, "malloc") &&
	       !pattern_matches(&p, "xmalloc"), "an expression from a file is anchored");
	pattern_done(&p);
	refused("a{2,3}");
	refused("(a)\\1");
	refused("a**");
	refused("(a+)+");
	refused("((((((( a )))))))");
	refused("(");
	return tap_done();
}
