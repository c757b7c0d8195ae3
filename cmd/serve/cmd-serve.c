/*
 * cprof serve: checks the options and becomes the program cprof-serve, which alone has the code for
 * HTTP.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/beside.h"
#include "cmd/caller.h"
#include "cmd/cmd.h"
#include "cmd/serve/serve-opts.h"

#include <errno.h>
#include <unistd.h>

static int run_serve(int argc, char **argv)
{
	static const char *const places[] = { CPROF_LIBEXEC_FOLDER, "." };
	struct serve_opts o;
	struct err e = { 0 };
	serve_opts_parse(&o, argc, argv);
	serve_opts_done(&o);
	CLEANUP_FREE char *path = beside_find(places, 2, "cprof-serve", &e);
	if (!path) {
		err_hint(&e, "cprof was built without libmicrohttpd, or installed in parts");
		return cmd_fail("serve", &e);
	}
	caller_leave();
	execv(path, argv);
	err_errno(&e, errno, "cannot run '%s'", path);
	return cmd_fail("serve", &e);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.help = "record profiles on request, over HTTP",
	.argp = &serve_opts_argp,
	.run = run_serve,
};
