/*
 * AT_SECURE is how the kernel itself marks such a start; the dynamic loader and libc trust it, too.
 *
 * What the caller may do is not computed here: without the additional rights, the kernel refuses
 * what it refuses to this caller in any other program (ptrace_may_access, perf_event_paranoid,
 * kptr_restrict), for each process, at each time.
 */

#include "cmd/caller.h"

#include "base/err.h"
#include "base/rights.h"
#include "cmd/nofile.h"
#include "cmd/settings.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Variables that change what is printed and how, and with which program; a pager and a command run
 * without additional rights. */
static const char *const harmless[] = {
	"COLUMNS", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME",
	"NO_COLOR", "PAGER", "PATH", "TERM",
};

static char **whole_environment;  /* the caller's; NULL: environ is still the caller's */
static bool is_refused;

static bool is_harmless(const char *assignment)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		size_t n = strlen(harmless[i]);
		if (strncmp(assignment, harmless[i], n) == 0 && assignment[n] == '=')
			return true;
	}
	return false;
}

/* "HOME=FOLDER" by the password file; NULL if that has none, or memory is out. */
static char *home_assignment(void)
{
	const struct passwd *user = getpwuid(getuid());
	char *text;
	if (!user || user->pw_dir[0] != '/' || asprintf(&text, "HOME=%s", user->pw_dir) < 0)
		return NULL;
	return text;
}

static int clean_environment(void)
{
	size_t n = 0, n_kept = 0;
	while (environ[n])
		n++;
	char **clean = calloc(n + 2, sizeof(*clean));
	if (!clean)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_harmless(environ[i]))
			clean[n_kept++] = environ[i];
	clean[n_kept] = home_assignment();
	whole_environment = environ;
	environ = clean;
	return 0;
}

/* Makes all user and group ids the real ones. */
static int restore_ids(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	bool keeps = geteuid() != uid;
	/* A change from root to another user would clear the permitted capabilities. */
	if (keeps && prctl(PR_SET_KEEPCAPS, 1) < 0)
		return -errno;
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return keeps && prctl(PR_SET_KEEPCAPS, 0) < 0 ? -errno : 0;
}

int caller_start(struct err *e)
{
	if (!getauxval(AT_SECURE))
		return 0;
	int r = clean_environment();
	if (r == 0)
		r = restore_ids();
	/* Root's capabilities are its own. */
	if (r == 0 && getuid() != 0)
		r = rights_limit(rights_useful(rights_permitted()));
	return r < 0 ? err_errno(e, -r, "cannot give up the rights of the program's file") : 0;
}

int caller_settle(bool is_recording, struct err *e)
{
	if (!rights_are_kept() || (is_recording && settings_allow(CALLER_SETTINGS)))
		return 0;
	int r = rights_drop();
	/* No privilege is left to protect from the caller.  Without this, the command that cprof
	 * starts would count as another user's process until its exec. */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 1) < 0)
		r = -errno;
	is_refused = true;
	return r < 0 ? err_errno(e, -r, "cannot give up the rights of the program's file") : 0;
}

void caller_leave(void)
{
	if (rights_drop() < 0)
		_exit(126);
	nofile_restore();
	if (whole_environment)
		environ = whole_environment;
}

const char *caller_remedy(void)
{
	return is_refused ? "the capabilities of cprof's file are only for the groups that "
			    CALLER_SETTINGS " names ('allow-group = GROUP'), and you are in "
			    "none of them: see PRIVILEGES in cprof(1)" : NULL;
}
