/*
 * cprof-serve: one thread and one poll(2) for connections, recordings and signals.  libmicrohttpd
 * parses HTTP in the same loop.  Recordings are processes of their own (serve-job.h), so that this
 * one, which reads what clients send, opens no events.
 */
#include "cmd/serve/serve.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/printable.h"
#include "cmd/serve/serve-job.h"
#include "cmd/signals.h"
#include "cmd/smallfile.h"

#include <microhttpd.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS_MAX 200u
#define TOKEN_MIN 16u

/* How often connections are checked for their time. */
#define CHECK_MS 250

/* ---- files of the options ------------------------------------------------------------ */

/* The first line of the file. */
static int read_token(struct serve *s, struct err *e)
{
	if (!s->opts.token_file)
		return 0;
	s->token = smallfile_read("--token-file", s->opts.token_file, 077, e);
	if (!s->token)
		return e->code;
	s->token[strcspn(s->token, "\r\n")] = '\0';
	if (strlen(s->token) >= TOKEN_MIN)
		return 0;
	err_set(e, EINVAL, "--token-file: the token in '%s' has less than %u characters",
		s->opts.token_file, TOKEN_MIN);
	err_hint(e, "head -c 24 /dev/urandom | base64 >%s", s->opts.token_file);
	return -EINVAL;
}

/* ---- set-up -------------------------------------------------------------------------- */

static int open_daemons(struct serve *s, struct err *e)
{
	s->plain = conns_daemon(s, NULL, NULL);
	if (!s->plain)
		return err_set(e, ENOMEM, "libmicrohttpd cannot start");
	if (!s->opts.tls_cert)
		return 0;
	CLEANUP_FREE char *cert = smallfile_read("--tls-cert", s->opts.tls_cert, 0, e);
	CLEANUP_FREE char *key = cert ? smallfile_read("--tls-key", s->opts.tls_key, 077, e) : NULL;
	if (!key)
		return e->code;
	s->tls = conns_daemon(s, cert, key);
	return s->tls ? 0 : err_set(e, EINVAL, "'%s' and '%s' are no certificate with its key",
				    s->opts.tls_cert, s->opts.tls_key);
}

static int open_listener(struct serve *s, const struct serve_address *a, struct err *e)
{
	struct listener l = {
		.address = *a, .daemon = s->tls && !a->is_unix ? s->tls : s->plain,
		.fd = serve_address_open(a, e),
	};
	char text[SERVE_ADDRESS_TEXT_MAX];
	if (l.fd < 0)
		return e->code;
	if (!VEC_PUSH(&s->listeners, l)) {
		close(l.fd);
		return err_errno(e, ENOMEM, "cannot listen");
	}
	if (!s->opts.is_quiet) {
		fputs("cprof serve: listening at ", stderr);
		printable_text(stderr, serve_address_text(a, text));
		fputc('\n', stderr);
	}
	return 0;
}

static int open_listeners(struct serve *s, struct err *e)
{
	struct serve_address a;
	if (s->opts.listen.n == 0) {
		int r = serve_address_default(&a, e);
		return r < 0 ? r : open_listener(s, &a, e);
	}
	for (size_t i = 0; i < s->opts.listen.n; i++) {
		int r = serve_address_parse(s->opts.listen.v[i], &a, e);
		if (r == 0)
			r = open_listener(s, &a, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_signals(struct serve *s, struct err *e)
{
	s->signal_fd = signals_open_service(false, e);
	signal(SIGCHLD, SIG_IGN);   /* the kernel reaps recordings */
	s->program_fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	return s->signal_fd < 0 ? s->signal_fd
		: s->program_fd < 0 ? err_errno(e, errno, "cannot start") : 0;
}

static int open_serve(struct serve *s, struct err *e)
{
	int r = open_signals(s, e);
	if (r == 0)
		r = read_token(s, e);
	if (r == 0)
		r = open_daemons(s, e);
	if (r < 0)
		return r;
	s->hub = hub_new(&(struct hub_limits){ s->opts.n_recordings_max, CLIENTS_MAX },
			 s->program_fd);
	return s->hub ? open_listeners(s, e) : err_errno(e, ENOMEM, "cannot start");
}

/* ---- the loop ------------------------------------------------------------------------ */

static int daemon_fd(struct MHD_Daemon *d)
{
	return d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd : -1;
}

static int daemon_timeout_ms(struct MHD_Daemon *d, int ms)
{
	MHD_UNSIGNED_LONG_LONG wait;
	if (!d || MHD_get_timeout(d, &wait) != MHD_YES)
		return ms;
	return clock_sooner_ms(ms, wait < 60000 ? (int)wait : 60000);
}

/* The first ones: the signals, the two daemons, the listeners. */
static bool collect_fds(const struct serve *s, struct hub_fds *fds)
{
	const int first[] = { s->signal_fd, daemon_fd(s->plain), daemon_fd(s->tls) };
	fds->fd.n = 0;
	for (size_t i = 0; i < 3; i++)
		if (!VEC_PUSH(&fds->fd, ((struct pollfd){ .fd = first[i], .events = POLLIN })))
			return false;
	for (size_t i = 0; i < s->listeners.n; i++)
		if (!VEC_PUSH(&fds->fd, ((struct pollfd){ .fd = s->listeners.v[i].fd,
							  .events = POLLIN })))
			return false;
	/* The daemon does not watch connections that are suspended. */
	for (const struct conn *c = s->conns; c; c = c->next)
		if (c->state == CONN_WAITING &&
		    !VEC_PUSH(&fds->fd, ((struct pollfd){ .fd = c->fd, .events = POLLRDHUP })))
			return false;
	return hub_add_fds(s->hub, fds);
}

static void drop_closed(struct serve *s, const struct hub_fds *fds)
{
	struct conn *next;
	for (struct conn *c = s->conns; c; c = next) {
		next = c->next;
		for (size_t i = 3 + s->listeners.n; i < fds->fd.n; i++)
			if (fds->fd.v[i].fd == c->fd && fds->fd.v[i].events == POLLRDHUP &&
			    fds->fd.v[i].revents)
				conns_drop(c);
	}
}

static void run_daemons(struct serve *s)
{
	MHD_run(s->plain);
	if (s->tls)
		MHD_run(s->tls);
}

static int serve_loop(struct serve *s, struct err *e)
{
	struct hub_fds fds = { .fd = { 0 } };
	int r = 0;
	for (;;) {
		if (!collect_fds(s, &fds)) {
			r = err_errno(e, ENOMEM, "cannot wait for requests");
			break;
		}
		int ms = hub_timeout_ms(s->hub, clock_monotonic_ns());
		if (s->conns)
			ms = clock_sooner_ms(ms, CHECK_MS);
		ms = daemon_timeout_ms(s->tls, daemon_timeout_ms(s->plain, ms));
		if (poll(fds.fd.v, fds.fd.n, ms) < 0 && errno != EINTR) {
			r = err_errno(e, errno, "cannot wait for requests");
			break;
		}
		if (fds.fd.v[0].revents)
			break;
		drop_closed(s, &fds);
		for (size_t i = 0; i < s->listeners.n; i++)
			if (fds.fd.v[3 + i].revents)
				conns_accept(s, &s->listeners.v[i]);
		hub_run(s->hub, clock_monotonic_ns());
		conns_expire(s, clock_monotonic_ns());
		run_daemons(s);
	}
	VEC_FREE(&fds.fd);
	return r;
}

/* ---- the end ------------------------------------------------------------------------- */

static void serve_close(struct serve *s)
{
	for (size_t i = 0; i < s->listeners.n; i++) {
		struct listener *l = &s->listeners.v[i];
		if (l->address.is_unix)
			unlink(l->address.at.un.sun_path);
		close(l->fd);
	}
	for (struct conn *c = s->conns; c; c = c->next)
		conns_drop(c);
	if (s->plain)
		run_daemons(s);
	if (s->plain)
		MHD_stop_daemon(s->plain);
	if (s->tls)
		MHD_stop_daemon(s->tls);
	hub_free(s->hub);
	if (s->program_fd >= 0)
		close(s->program_fd);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	VEC_FREE(&s->listeners);
	free(s->token);
	serve_opts_done(&s->opts);
}

int main(int argc, char **argv)
{
	static char name[] = "cprof serve";
	if (argc == SERVE_JOB_N_ARGS && strcmp(argv[SERVE_JOB_MARK], SERVE_JOB_MARK_TEXT) == 0)
		return serve_job_main(argv);
	struct serve s = { .program_fd = -1, .signal_fd = -1 };
	struct err e = { 0 };
	argp_err_exit_status = CMD_USAGE;
	if (argc > 0)
		argv[0] = name;
	serve_opts_parse(&s.opts, argc, argv);
	int r = open_serve(&s, &e);
	if (r == 0)
		r = serve_loop(&s, &e);
	serve_close(&s);
	return r < 0 ? cmd_fail("serve", &e) : 0;
}
