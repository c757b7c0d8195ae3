/* cprof agent: checks the options and becomes the program cprof-agent. */

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/agent/agent-opts.h"
#include "cmd/beside.h"
#include "cmd/caller.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <unistd.h>

static int run_agent(int argc, char **argv)
{
	static const char *const places[] = { CPROF_LIBEXEC_FOLDER, "." };
	struct agent_opts o;
	struct err e = { 0 };
	agent_opts_parse(&o, argc, argv);
	agent_opts_done(&o);
	CLEANUP_FREE char *path = beside_find(places, 2, "cprof-agent", &e);
	if (!path)
		return cmd_fail("agent", &e);
	caller_leave();
	execv(path, argv);
	err_errno(&e, errno, "cannot run '%s'", path);
	return cmd_fail("agent", &e);
}

const struct cmd cmd_agent = {
	.name = "agent",
	.help = "record all processes of this machine, continuously",
	.argp = &agent_opts_argp,
	.run = run_agent,
};
