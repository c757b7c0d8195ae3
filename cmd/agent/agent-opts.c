#include "cmd/agent/agent-opts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/wholefile.h"
#include "cmd/agent/agent-config.h"
#include "cmd/cmd.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { OPT_CHECK = 256 };

static const struct argp_option options[] = {
	{ "config", 'c', "FILE", 0,
	  "The configuration; default: " AGENT_CONFIG_DEFAULT ", if it exists", 1 },
	{ "set", 's', "KEY=VALUE", 0, "A setting, as in that file (repeatable)", 1 },
	{ "check", OPT_CHECK, NULL, 0, "Check the configuration and what it needs, and end", 1 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 2 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct agent_opts *o = state->input;
	switch (key) {
	case 'c': o->config = arg; break;
	case 's':
		if (!VEC_PUSH(&o->set, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "--set");
		break;
	case OPT_CHECK: o->is_check = true; break;
	case 'q': o->is_quiet = true; break;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is not an option", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp agent_opts_argp = {
	.options = options, .parser = parse,
	.doc = "Records all processes of this machine continuously, and writes a profile of each "
	       "service and window into a directory, from where 'cprof push' sends them.\v"
	       "cprof-agent(1) describes the configuration.",
};

void agent_opts_parse(struct agent_opts *o, int argc, char **argv)
{
	*o = (struct agent_opts){ 0 };
	argp_parse(&agent_opts_argp, argc, argv, ARGP_IN_ORDER, NULL, o);
}

void agent_opts_done(struct agent_opts *o)
{
	VEC_FREE(&o->set);
}

static int read_file(struct agent_config *c, const char *path, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno(e, errno, "cannot read '%s'", path);
	int r = wholefile_read(fd, path, AGENT_CONFIG_BYTES_MAX, &text, &n, e);
	return r < 0 ? r : agent_config_parse(c, path, text, n, e);
}

int agent_opts_load(const struct agent_opts *o, struct agent_config *ret, struct err *e)
{
	const char *path = o->config ? o->config : AGENT_CONFIG_DEFAULT;
	agent_config_init(ret);
	int r = read_file(ret, path, e);
	if (r == -ENOENT && !o->config)
		r = 0;
	for (size_t i = 0; r == 0 && i < o->set.n; i++)
		r = agent_config_set(ret, o->set.v[i], e);
	return r < 0 ? r : agent_config_check(ret, e);
}
