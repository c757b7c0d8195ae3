#include "base/err.h"

#include "tap.h"

#include <errno.h>
#include <stdlib.h>

static void fill(char *text, size_t n, char c)
{
	memset(text, c, n - 1);
	text[n - 1] = '\0';
}

int main(void)
{
	struct err e = { 0 };
	tap_int(err_set(&e, ENOENT, "no event '%s'", "x"), -ENOENT, "set returns the code");
	tap_int(e.code, -ENOENT, "and stores it");
	tap_str(e.what, "no event 'x'", "with the text");
	tap_str(e.hint, "", "and no hint");
	err_hint(&e, "try '%s'", "y");
	tap_str(e.hint, "try 'y'", "hint");
	tap_str(e.what, "no event 'x'", "a hint does not change the text");
	err_prefix(&e, "cpu %d", 3);
	tap_str(e.what, "cpu 3: no event 'x'", "prefix");
	tap_str(e.hint, "try 'y'", "a prefix keeps the hint");
	tap_int(err_errno(&e, EACCES, "cannot open '%s'", "/x"), -EACCES, "errno returns the code");
	tap_str(e.what, "cannot open '/x': Permission denied", "and appends its text");
	tap_str(e.hint, "", "a new error has no hint");
	tap_int(err_set(NULL, EIO, "x"), -EIO, "set with NULL");
	tap_int(err_errno(NULL, EIO, "x"), -EIO, "errno with NULL");
	err_hint(NULL, "x");
	err_prefix(NULL, "x");
	tap_ok(true, "hint and prefix with NULL");

	char *text = malloc(4 * ERR_TEXT_MAX);
	fill(text, 4 * ERR_TEXT_MAX, 'a');
	err_set(&e, EIO, "%s", text);
	tap_int((long long)strlen(e.what), ERR_TEXT_MAX - 1, "a long text is truncated");
	err_errno(&e, EIO, "%s", text);
	tap_int((long long)strlen(e.what), ERR_TEXT_MAX - 1, "also with an errno");
	err_hint(&e, "%s", text);
	tap_int((long long)strlen(e.hint), ERR_TEXT_MAX - 1, "so is a hint");
	err_prefix(&e, "p");
	tap_ok(strlen(e.what) == ERR_TEXT_MAX - 1 && !strncmp(e.what, "p: aaa", 6),
	       "a prefix before a long text");
	err_set(&e, EIO, "short");
	err_prefix(&e, "%s", text);
	tap_ok(strlen(e.what) == ERR_TEXT_MAX - 1 && e.what[0] == 'a', "a long prefix, too");
	free(text);
	return tap_done();
}
