/* Only parses each value; cprof-push opens the files and the server. */

#include "cmd/push/push-opts.h"

#include "cmd/cmd.h"
#include "cmd/optparse.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPOOL_DEFAULT "/var/spool/cprof"
#define STATE_DEFAULT "/var/lib/cprof-push"
#define TIMEOUT_DEFAULT_NS (30 * UINT64_C(1000000000))
#define TIMEOUT_MAX_NS (3600 * UINT64_C(1000000000))

enum {
	OPT_SPOOL = 256, OPT_STATE, OPT_FORMAT, OPT_ONCE, OPT_TOKEN_FILE, OPT_USER, OPT_TENANT,
	OPT_CA_FILE, OPT_INSECURE, OPT_LABEL, OPT_TIMEOUT, OPT_UNSURE,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What and where:", 1 },
	{ "format", OPT_FORMAT, "FORMAT", 0,
	  "What the server is: pyroscope, parca, or otlp for an OpenTelemetry Collector", 1 },
	{ "spool", OPT_SPOOL, "FOLDER", 0,
	  "The spool of cprof agent; default: " SPOOL_DEFAULT, 1 },
	{ "state", OPT_STATE, "FOLDER", 0,
	  "Where to remember what was sent; default: STATE_DIRECTORY, or " STATE_DEFAULT, 1 },
	{ "label", OPT_LABEL, "KEY=VALUE", 0, "Add a label to all profiles (repeatable)", 1 },
	{ "once", OPT_ONCE, NULL, 0,
	  "Send what the spool holds and end, with status 1 if something is left", 1 },

	{ NULL, 0, NULL, 0, "Security:", 2 },
	{ "token-file", OPT_TOKEN_FILE, "FILE", 0, "Send the token in FILE, which is read anew for "
	  "each request", 2 },
	{ "user", OPT_USER, "NAME", 0, "With --token-file: it is the password of this user", 2 },
	{ "tenant", OPT_TENANT, "ID", 0, "Whose profiles these are, for servers that have several "
	  "tenants (X-Scope-OrgID)", 2 },
	{ "ca-file", OPT_CA_FILE, "FILE", 0,
	  "Trust the certificates in FILE (PEM) instead of the system's", 2 },
	{ "insecure", OPT_INSECURE, NULL, 0,
	  "Send the token without TLS to another machine: it can be read on the way", 2 },

	{ NULL, 0, NULL, 0, "Failures:", 3 },
	{ "timeout", OPT_TIMEOUT, "TIME", 0, "Wait so long for an answer; default: 30s", 3 },
	{ "unsure", OPT_UNSURE, "drop|send", 0,
	  "Profiles that were sent but not answered: drop and count them, or send them again; "
	  "default: drop", 3 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 4 },
	{ 0 }
};

/* ---- the URL ------------------------------------------------------------------------- */

/* The host and the rest of the URL; NULL if it is neither http nor https. */
static const char *host_of(const char *url)
{
	return strncmp(url, "http://", 7) == 0 ? url + 7
		: strncmp(url, "https://", 8) == 0 ? url + 8 : NULL;
}

static const char *wrong_url(const char *url)
{
	const char *host = host_of(url);
	if (!host)
		return "does not begin with http:// or https://";
	size_t n = strcspn(host, "/");
	if (n == 0 || *host == ':')
		return "has no host";
	if (memchr(host, '@', n))
		return "has a user or password, which others could see: use --user, --token-file";
	if (strpbrk(url, "?# \t\n"))
		return "has a query or fragment";
	return NULL;
}

bool push_opts_is_loopback(const char *url)
{
	const char *host = host_of(url);
	size_t n = host ? strcspn(host, host && *host == '[' ? "]" : ":/") : 0;
	return host && ((n == 9 && strncmp(host, "localhost", n) == 0) ||
			(n == 5 && strncmp(host, "[::1]", n) == 0) ||
			(n == 4 && strncmp(host, "[::1", n) == 0) ||
			(strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n));
}

/* ---- values -------------------------------------------------------------------------- */

static void parse_format(struct push_opts *o, struct argp_state *state, const char *arg)
{
	static const char *const word[] = {
		[PUSH_PYROSCOPE] = "pyroscope", [PUSH_PARCA] = "parca", [PUSH_OTLP] = "otlp",
	};
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
		if (strcmp(arg, word[i]) == 0) {
			o->format = (enum push_format)i;
			o->has_format = true;
			return;
		}
	argp_error(state, "--format '%s' is not pyroscope, parca or otlp", arg);
}

static void parse_unsure(struct push_opts *o, struct argp_state *state, const char *arg)
{
	o->repeats_unsure = strcmp(arg, "send") == 0;
	if (!o->repeats_unsure && strcmp(arg, "drop") != 0)
		argp_error(state, "--unsure '%s' is not drop or send", arg);
}

/* Header values end at a line's end. */
static void check_header(struct argp_state *state, const char *option, const char *arg)
{
	if (!*arg || strpbrk(arg, "\r\n"))
		argp_error(state, "%s needs a single line", option);
}

static void split_labels(struct push_opts *o, struct argp_state *state)
{
	for (size_t i = 0; i < o->label_text.n; i++) {
		const char *equals = strchr(o->label_text.v[i], '=');
		char *key = strndup(o->label_text.v[i], (size_t)(equals - o->label_text.v[i]));
		if (!key || !VEC_PUSH(&o->label, ((struct keyvalue){ key, equals + 1 })))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	}
}

static void check_end(struct push_opts *o, struct argp_state *state)
{
	if (!o->url)
		argp_error(state, "no URL given");
	if (!o->has_format)
		argp_error(state, "no --format given: pyroscope, parca or otlp");
	const char *wrong = wrong_url(o->url);
	if (wrong)
		argp_error(state, "the URL '%s' %s", o->url, wrong);
	if (o->user && !o->token_file)
		argp_error(state, "--user needs --token-file, with the password");
	if (o->token_file && strncmp(o->url, "https:", 6) != 0 && !o->is_insecure &&
	    !push_opts_is_loopback(o->url))
		argp_error(state, "--token-file: without https the token could be read on the way; "
			   "use https://, or --insecure");
	if (!o->state) {
		const char *folder = getenv("STATE_DIRECTORY");
		o->state = folder && *folder ? folder : STATE_DEFAULT;
	}
	split_labels(o, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct push_opts *o = state->input;
	switch (key) {
	case OPT_FORMAT: parse_format(o, state, arg); break;
	case OPT_SPOOL: o->spool = arg; break;
	case OPT_STATE: o->state = arg; break;
	case OPT_LABEL:
		optparse_label(state, arg, &o->label_text.v, &o->label_text.n, &o->label_text.cap);
		break;
	case OPT_ONCE: o->is_once = true; break;
	case OPT_TOKEN_FILE: o->token_file = arg; break;
	case OPT_USER: check_header(state, "--user", arg); o->user = arg; break;
	case OPT_TENANT: check_header(state, "--tenant", arg); o->tenant = arg; break;
	case OPT_CA_FILE: o->ca_file = arg; break;
	case OPT_INSECURE: o->is_insecure = true; break;
	case OPT_TIMEOUT:
		o->timeout_ns = optparse_time(state, "--timeout", arg, 100000000, TIMEOUT_MAX_NS);
		break;
	case OPT_UNSURE: parse_unsure(o, state, arg); break;
	case 'q': o->is_quiet = true; break;
	case ARGP_KEY_ARG:
		if (o->url)
			argp_error(state, "more than one URL");
		o->url = arg;
		break;
	case ARGP_KEY_END: check_end(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp push_opts_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "URL",
	.doc = "Send the profiles in the spool of cprof agent to a server.\v"
	       "Exit status: 0 after SIGINT or SIGTERM, 1 failed, 64 usage.",
};

void push_opts_parse(struct push_opts *o, int argc, char **argv)
{
	*o = (struct push_opts){ .spool = SPOOL_DEFAULT, .timeout_ns = TIMEOUT_DEFAULT_NS };
	argp_parse(&push_opts_argp, argc, argv, ARGP_IN_ORDER, NULL, o);
}

void push_opts_done(struct push_opts *o)
{
	for (size_t i = 0; i < o->label.n; i++)
		free((char *)o->label.v[i].key);
	VEC_FREE(&o->label);
	VEC_FREE(&o->label_text);
}
