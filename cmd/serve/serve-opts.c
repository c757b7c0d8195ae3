/* Only parses each value; cprof-serve opens the addresses and files. */
#include "cmd/serve/serve-opts.h"

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/optparse.h"
#include "cmd/serve/serve-address.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

#define RECORDINGS_DEFAULT 4u
#define RECORDINGS_MAX 64u
#define WINDOW_DEFAULT_NS (300 * UINT64_C(1000000000))
#define WINDOW_MAX_NS (3600 * UINT64_C(1000000000))

enum {
	OPT_TOKEN_FILE = 256, OPT_TLS_CERT, OPT_TLS_KEY, OPT_INSECURE, OPT_HOST,
	OPT_MAX_RECORDINGS, OPT_MAX_SECONDS,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Where:", 1 },
	{ "listen", 'l', "ADDRESS", 0,
	  "A path for a unix socket, 127.0.0.1:PORT, or another address with --token-file "
	  "(repeatable); default: cprof.sock in XDG_RUNTIME_DIR, or /run/cprof.sock for root", 1 },
	{ "host", OPT_HOST, "NAME", 0,
	  "A further name of this machine that clients may use in URLs (repeatable)", 1 },

	{ NULL, 0, NULL, 0, "Who:", 2 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0,
	  "Clients over TCP need the token in FILE, and have the rights of the server", 2 },
	{ "tls-cert", OPT_TLS_CERT, "FILE", 0, "The server's certificate chain, PEM", 2 },
	{ "tls-key", OPT_TLS_KEY, "FILE", 0, "Its private key, PEM", 2 },
	{ "insecure", OPT_INSECURE, NULL, 0,
	  "Serve other addresses than loopback without TLS: tokens and profiles can be read on "
	  "the way", 2 },

	{ NULL, 0, NULL, 0, "What:", 3 },
	{ "pid", 'p', "PROCESS", 0,
	  "The process, by id or name, of requests without pid, comm or cgroup; default: all "
	  "processes", 3 },

	{ NULL, 0, NULL, 0, "Limits:", 4 },
	{ "max-recordings", OPT_MAX_RECORDINGS, "N", 0,
	  "Different recordings at the same time; default: 4", 4 },
	{ "max-seconds", OPT_MAX_SECONDS, "TIME", 0, "The longest recording; default: 5m", 4 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 5 },
	{ 0 }
};

static void check_address(struct argp_state *state, const char *arg)
{
	struct serve_address a;
	struct err e = { 0 };
	if (serve_address_parse(arg, &a, &e) < 0)
		argp_error(state, "%s", e.what);
}

static void check_end(const struct serve_opts *o, struct argp_state *state)
{
	if (!o->tls_cert != !o->tls_key)
		argp_error(state, "--tls-cert and --tls-key go together");
	for (size_t i = 0; i < o->listen.n; i++) {
		struct serve_address a;
		serve_address_parse(o->listen.v[i], &a, NULL);
		if (a.is_unix || serve_address_is_loopback(&a))
			continue;
		if (!o->token_file)
			argp_error(state, "-l %s: other machines can reach this address, which "
				   "needs --token-file", o->listen.v[i]);
		if (!o->tls_cert && !o->is_insecure)
			argp_error(state, "-l %s: other machines can reach this address, which "
				   "needs --tls-cert and --tls-key, or --insecure",
				   o->listen.v[i]);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct serve_opts *o = state->input;
	switch (key) {
	case 'l':
		check_address(state, arg);
		optparse_append(state, arg, &o->listen.v, &o->listen.n, &o->listen.cap);
		break;
	case OPT_HOST:
		if (!*arg)
			argp_error(state, "--host needs a name");
		optparse_append(state, arg, &o->host.v, &o->host.n, &o->host.cap);
		break;
	case OPT_TOKEN_FILE: o->token_file = arg; break;
	case OPT_TLS_CERT: o->tls_cert = arg; break;
	case OPT_TLS_KEY: o->tls_key = arg; break;
	case OPT_INSECURE: o->is_insecure = true; break;
	case 'p':
		if (!*arg || strpbrk(arg, ", \t\n"))
			argp_error(state, "-p '%s' is not the id or name of a process", arg);
		o->process = arg;
		break;
	case OPT_MAX_RECORDINGS:
		o->n_recordings_max = (uint32_t)optparse_number(state, "--max-recordings", arg, 1,
								RECORDINGS_MAX);
		break;
	case OPT_MAX_SECONDS:
		o->window_max_ns = optparse_time(state, "--max-seconds", arg, 1000000,
						 WINDOW_MAX_NS);
		break;
	case 'q': o->is_quiet = true; break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': this command takes no arguments", arg);
		break;
	case ARGP_KEY_END: check_end(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp serve_opts_argp = {
	.options = options,
	.parser = parse,
	.doc = "Record profiles on request, over HTTP: /debug/pprof/profile?seconds=5&pid=PID.\v"
	       "Exit status: 0 after SIGINT or SIGTERM, 1 failed, 64 usage.",
};

void serve_opts_parse(struct serve_opts *o, int argc, char **argv)
{
	*o = (struct serve_opts){
		.n_recordings_max = RECORDINGS_DEFAULT, .window_max_ns = WINDOW_DEFAULT_NS,
	};
	argp_parse(&serve_opts_argp, argc, argv, ARGP_IN_ORDER, NULL, o);
}

void serve_opts_done(struct serve_opts *o)
{
	VEC_FREE(&o->listen);
	VEC_FREE(&o->host);
}
