#include "base/err.h"
#include "cmd/settings.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_member(void *ctx, const char *name)
{
	return strcmp(name, ctx) == 0;
}

/* "1", "0", or the text of the error, for a member of the group perf. */
static const char *parsed(const char *text, size_t n)
{
	static char result[ERR_TEXT_MAX];
	struct err e = { 0 };
	char group[] = "perf";
	int r = settings_parse(text, n, is_member, group, &e);
	if (r < 0)
		snprintf(result, sizeof(result), "%s", r == -EINVAL ? e.what : "not -EINVAL");
	else
		snprintf(result, sizeof(result), "%d", r);
	return result;
}

static void is(const char *text, const char *want)
{
	char name[100];
	snprintf(name, sizeof(name), "'%s'", text);
	for (char *p = name; *p; p++)
		*p = *p == '\n' ? '/' : *p;
	tap_str(parsed(text, strlen(text)), want, name);
}

int main(void)
{
	char name[] = "/tmp/test-settings-XXXXXX", long_line[1000];
	is("", "0");
	is("allow-group = perf", "1");
	is("allow-group=perf\n", "1");
	is("# all\n\n\t allow-group\t=  perf  \n", "1");
	is("allow-group = other\nallow-group = perf\n", "1");
	is("allow-group = perf\nallow-group = other\n", "1");
	is("allow-group = perfs\nallow-group = per\n", "0");
	is("# allow-group = perf\n", "0");
	is("allow-group = perf\nallow-grup = x\n", "line 2 is not 'allow-group = GROUP'");
	is("allow-group =\n", "line 1 is not 'allow-group = GROUP'");
	is("allow-group = a perf\n", "line 1 is not 'allow-group = GROUP'");
	is("allow-group perf\n", "line 1 is not 'allow-group = GROUP'");
	is("allow-group = perf # all\n", "line 1 is not 'allow-group = GROUP'");
	is("\nallow-group = perf\r\n", "0");
	tap_str(parsed("allow-group = perf\0x", 20), "line 1 is too long, or not text", "a NUL");
	memset(long_line, 'x', sizeof(long_line));
	tap_str(parsed(long_line, sizeof(long_line)), "line 1 is too long, or not text",
		"a long line");

	int fd = mkstemp(name);
	tap_ok(fd >= 0, "a file in a folder of everyone");
	close(fd);
	tap_ok(!settings_allow(name), "  is ignored");
	unlink(name);
	tap_ok(!settings_allow(name), "no file");
	return tap_done();
}
