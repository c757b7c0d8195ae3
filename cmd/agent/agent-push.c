/*
 * One that ends is started again, after a second if it ran for a minute, else later and later.  It
 * ends with the recorder, however that ends.
 */
#include "cmd/agent/agent-push.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/agent/agent-config.h"
#include "cmd/beside.h"
#include "cmd/nofile.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64u
#define AGAIN_NS UINT64_C(1000000000)
#define AGAIN_MAX_NS (60 * AGAIN_NS)

static char *find_program(struct err *e)
{
	static const char *const places[] = { "." };
	char *path = beside_find(places, 1, "cprof-push", e);
	if (!path)
		err_hint(e, "cprof was built without libcurl, or installed in parts");
	return path;
}

static int find_user(const struct agent_config *c, struct passwd **ret, struct err *e)
{
	*ret = getpwnam(c->push_user);
	if (!*ret)
		return err_set(e, ENOENT, "push-user: there is no user '%s'", c->push_user);
	if ((*ret)->pw_uid == 0)
		return err_set(e, EINVAL, "push-user: root is no unprivileged user");
	if (geteuid() != 0 && geteuid() != (*ret)->pw_uid)
		return err_set(e, EPERM, "push-user: only root can start a program as '%s'",
			       c->push_user);
	return 0;
}

int agent_push_check(const struct agent_config *c, struct err *e)
{
	struct passwd *user;
	if (!c->push)
		return 0;
	CLEANUP_FREE char *path = find_program(e);
	return path ? find_user(c, &user, e) : e->code ? e->code : -ENOENT;
}

/* Splits text, which it changes, at blanks. */
static size_t split_words(char *text, char **word, size_t n_max)
{
	size_t n = 0;
	char *rest = NULL;
	char *w = strtok_r(text, " \t", &rest);
	for (; w && n < n_max; w = strtok_r(NULL, " \t", &rest))
		word[n++] = w;
	return n;
}

static bool become(const struct passwd *user)
{
	if (geteuid() != 0)
		return true;
	return initgroups(user->pw_name, user->pw_gid) == 0 &&
	       setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
	       setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0;
}

static void run_child(const struct agent_config *c, const char *path, const struct passwd *user,
		      char *words)
{
	static char name[] = "cprof-push", spool[] = "--spool";
	char *argv[WORDS_MAX + 4] = { name, spool, (char *)c->spool };
	sigset_t none;
	sigemptyset(&none);
	split_words(words, argv + 3, WORDS_MAX);
	if (!become(user) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		_exit(126);
	nofile_restore();
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(path, argv);
	_exit(127);
}

int agent_push_start(struct agent_push *p, const struct agent_config *c, uint64_t now_ns,
		     struct err *e)
{
	struct passwd *user;
	if (!c->push || p->pid || now_ns < p->again_ns)
		return 0;
	CLEANUP_FREE char *path = find_program(e);
	CLEANUP_FREE char *words = strdup(c->push);
	if (!path || !words)
		return e->code ? e->code : err_errno(e, ENOMEM, "cannot start cprof push");
	int r = find_user(c, &user, e);
	if (r < 0)
		return r;
	pid_t pid = fork();
	if (pid == 0)
		run_child(c, path, user, words);
	if (pid < 0)
		return err_errno(e, errno, "cannot start cprof push");
	p->pid = pid;
	p->again_ns = now_ns + AGAIN_MAX_NS;
	return 0;
}

bool agent_push_ended(struct agent_push *p, pid_t pid, uint64_t now_ns)
{
	if (pid != p->pid)
		return false;
	/* One that ran for a while starts again at once. */
	bool is_quick = now_ns < p->again_ns;
	p->n_failures = is_quick && p->n_failures < 6 ? p->n_failures + 1 : is_quick ? 6 : 0;
	uint64_t wait_ns = AGAIN_NS << p->n_failures;
	p->again_ns = now_ns + (wait_ns < AGAIN_MAX_NS ? wait_ns : AGAIN_MAX_NS);
	p->pid = 0;
	return true;
}

void agent_push_stop(struct agent_push *p)
{
	if (!p->pid)
		return;
	kill(p->pid, SIGTERM);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
