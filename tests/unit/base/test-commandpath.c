#include "base/commandpath.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

int main(void)
{
	char name[PATH_MAX];
	setenv("PATH", "/nowhere:/bin::/usr/bin", 1);
	tap_str(commandpath_find("sh", name), "/bin/sh", "the first folder that has it");
	tap_str(commandpath_find("./sh", name), "./sh", "a slash: PATH does not matter");
	tap_ok(!commandpath_find("no-such-command", name), "in no folder");
	setenv("PATH", "", 1);
	tap_ok(!commandpath_find("no-such-command", name), "an empty PATH is the present folder");
	unsetenv("PATH");
	tap_str(commandpath_find("sh", name), "sh", "no PATH");
	return tap_done();
}
