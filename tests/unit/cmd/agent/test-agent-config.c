#include "base/err.h"
#include "cmd/agent/agent-config.h"
#include "tests/unit/tap.h"

#include <string.h>

/* "" or the error of a configuration. */
static const char *error_of(const char *text)
{
	static char what[ERR_TEXT_MAX];
	struct agent_config c;
	struct err e = { 0 };
	agent_config_init(&c);
	int r = agent_config_parse(&c, "f", text, strlen(text), &e);
	if (r == 0)
		r = agent_config_check(&c, &e);
	snprintf(what, sizeof(what), "%s", r < 0 ? e.what : "");
	agent_config_done(&c);
	return what;
}

static void is_wrong(const char *text, const char *want)
{
	tap_str(error_of(text), want, want);
}

int main(void)
{
	struct agent_config c;
	struct err e = { 0 };
	static const char text[] = "# all\n\n rate = 99\nwindow=1m\r\n spool = /x y \n"
				   "smallest = 0.5%\n"
				   "label = env=prod\nlabel=zone=a b\nno-symbols = yes\n"
				   "spool-size = 1G\nspool-files = 50\nmax-memory = 16M\nhost = h";
	agent_config_init(&c);
	tap_str(c.rate, "19", "19 Hz is the default");
	tap_int(agent_config_parse(&c, "f", text, strlen(text), &e), 0, "a configuration is read");
	tap_str(c.rate, "99", "its rate");
	tap_int((long long)(c.window_ns / 1000000000), 60, "its window");
	tap_str(c.spool, "/x y", "a path with a blank");
	tap_ok(c.smallest_percent == 0.5 && c.no_symbols, "a percentage, and yes");
	tap_ok(c.n_labels == 2 && strcmp(c.label[1], "zone=a b") == 0, "two labels");
	tap_ok(c.spool_bytes == 1u << 30 && c.spool_files == 50, "the limits of the spool");
	tap_int(agent_config_set(&c, "rate=7", &e), 0, "a setting of the command line");
	tap_str(c.rate, "7", "comes last");
	tap_int(agent_config_check(&c, &e), 0, "all of it is right");
	agent_config_done(&c);

	tap_str(error_of(""), "", "an empty configuration is right");
	tap_str(error_of("push = http://a\npush-user = nobody\n"), "", "so is one with a pusher");
	is_wrong("x", "f, line 1: 'x' is not 'KEY = VALUE'");
	is_wrong("\n\nrat = 1", "f, line 3: there is no key 'rat'");
	is_wrong("rate = 0", "f, line 1: rate: '0' is too small");
	is_wrong("rate = many", "f, line 1: rate: 'many' is not a number");
	is_wrong("window = 100ms", "f, line 1: window: '100ms' is too small");
	is_wrong("window = soon", "f, line 1: window: 'soon' is not a time");
	is_wrong("spool = x", "f, line 1: spool: 'x' is not an absolute path");
	is_wrong("spool-size = 1K", "f, line 1: spool-size: '1K' is too small");
	is_wrong("spool-size = big", "f, line 1: spool-size: 'big' is not a size");
	is_wrong("smallest = 101%", "f, line 1: smallest: '101%' is not a percentage");
	is_wrong("no-symbols = maybe", "f, line 1: no-symbols: 'maybe' is not yes or no");
	is_wrong("label = x", "f, line 1: label: 'x' is not NAME=VALUE");
	is_wrong("label = a-b=c", "f, line 1: label: 'a-b=c' is not NAME=VALUE");
	is_wrong("host =", "f, line 1: host has no value");
	is_wrong("push = http://a",
		 "push needs push-user: an unprivileged user, who sends the profiles");
	is_wrong("push-user = a", "push-user without push: there is nothing to start");
	is_wrong("spool-files = 30", "spool-files: there is not even room for one window");
	is_wrong("label=a=1\nlabel=b=1\nlabel=c=1\nlabel=d=1\nlabel=e=1\nlabel=f=1\nlabel=g=1\n"
		 "label=h=1\nlabel=i=1", "f, line 9: more than 8 labels");
	agent_config_init(&c);
	tap_ok(agent_config_parse(&c, "f", "a\0b", 3, &e) < 0, "a NUL is not text");
	agent_config_done(&c);
	return tap_done();
}
