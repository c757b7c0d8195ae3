/*
 * cprof push: checks the options and becomes the program cprof-push, which alone has the code for
 * HTTP.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/beside.h"
#include "cmd/caller.h"
#include "cmd/cmd.h"
#include "cmd/push/push-opts.h"

#include <errno.h>
#include <unistd.h>

static int run_push(int argc, char **argv)
{
	static const char *const places[] = { CPROF_LIBEXEC_FOLDER, "." };
	struct push_opts o;
	struct err e = { 0 };
	push_opts_parse(&o, argc, argv);
	push_opts_done(&o);
	CLEANUP_FREE char *path = beside_find(places, 2, "cprof-push", &e);
	if (!path) {
		err_hint(&e, "cprof was built without libcurl, or installed in parts");
		return cmd_fail("push", &e);
	}
	caller_leave();
	execv(path, argv);
	err_errno(&e, errno, "cannot run '%s'", path);
	return cmd_fail("push", &e);
}

const struct cmd cmd_push = {
	.name = "push",
	.help = "send the profiles of cprof agent to a server",
	.argp = &push_opts_argp,
	.run = run_push,
};
