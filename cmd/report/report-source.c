/*
 * Finds source files and programs.  A source file is searched for at the path in the profile.  If
 * it is missing, the leading folders are removed one by one and the rest is tried below the current
 * folder, since people view profiles in the tree that they build.
 *
 * Paths come from the profile, and pages are meant to be shared: with '#line 3 "x.c"', x.c may be a
 * link to any file.  So only files that may be shown to the caller are opened (base/safeopen.h),
 * and of the files that only root may read only those with the name of a source file.  A path may
 * also lead to a file system that never answers, which would keep us waiting.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/safeopen.h"
#include "cmd/printable.h"
#include "view/html/html-source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES_MAX (UINT64_C(64) << 20)
#define REFUSED_MAX 1000   /* reported */

/* The owner of a profile has chosen the names in it: that user's files may be shown, but not those
 * of others whose files it names. */
void report_source_add(struct report_source *s, const char *const *path, size_t n_paths)
{
	for (size_t i = 0; i < n_paths; i++) {
		struct stat st;
		uid_t user = SAFEOPEN_NO_USER;
		int r = strcmp(path[i], "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(path[i], &st);
		if (r == 0 && S_ISREG(st.st_mode))
			user = st.st_uid;
		if (s->n_profiles++ == 0)
			s->user = user;
		else if (s->user != user)
			s->user = SAFEOPEN_NO_USER;
	}
}

void report_source_done(struct report_source *s)
{
	for (size_t i = 0; i < s->refused.n; i++)
		free(s->refused.v[i]);
	VEC_FREE(&s->refused);
	safeopen_waits_free(s->waits);
}

static void report_refused(struct report_source *s, const char *path, const struct err *why)
{
	for (size_t i = 0; i < s->refused.n; i++)
		if (strcmp(s->refused.v[i], path) == 0)
			return;
	if (s->refused.n == REFUSED_MAX)
		return;
	CLEANUP_FREE char *copy = strdup(path);
	if (copy && VEC_PUSH(&s->refused, copy))
		copy = NULL;
	fprintf(stderr, "cprof report: a file is not shown: ");
	printable_text(stderr, why->what);
	fputc('\n', stderr);
}

static int open_shown(struct report_source *s, const char *path, uint64_t n_bytes_max,
		      struct safeopen_file *ret, struct err *e)
{
	s->waits = s->waits ? s->waits : safeopen_waits_new();
	if (!s->waits)
		return err_errno(e, ENOMEM, "'%s'", path);
	const struct safeopen_rule rule = {
		.files = SAFEOPEN_SHOWN, .user = s->n_profiles ? s->user : SAFEOPEN_NO_USER,
		.root_fd = -1, .n_bytes_max = n_bytes_max, .waits = s->waits,
	};
	return safeopen_file(path, &rule, ret, e);
}

int report_source_open_program(struct report_source *s, const char *path, struct err *e)
{
	return open_shown(s, path, 0, NULL, e);
}

/* Is there a file, but not to be shown?  -EAGAIN: its holder of a lease would have to be waited for
 * (fcntl(2)). */
static bool is_refusal(int code)
{
	return code == -EPERM || code == -EACCES || code == -EINVAL || code == -EFBIG ||
	       code == -ETIMEDOUT || code == -EAGAIN;
}

/* why: of the first refusal. */
static FILE *open_source(struct report_source *s, const char *path, struct err *ret_why)
{
	struct safeopen_file found;
	struct err why = { 0 };
	CLEANUP_CLOSE int fd = open_shown(s, path, SOURCE_BYTES_MAX, &found, &why);
	if (fd >= 0 && !found.is_public && getuid() == 0 && found.st.st_uid == 0 &&
	    !html_source_is_name(found.name)) {
		err_set(&why, EPERM, "'%s' is a private file of root's, and its name is not that "
			"of a source file", path);
	} else if (fd >= 0) {
		FILE *f = fdopen(fd, "r");
		if (f)
			fd = -1;
		return f;
	}
	if (!ret_why->code && is_refusal(why.code))
		*ret_why = why;
	return NULL;
}

FILE *report_source_open(struct report_source *s, const char *path)
{
	if (!path[0])
		return NULL;
	struct err why = { 0 };
	FILE *f = open_source(s, path, &why);
	for (const char *p = path; !f && (p = strchr(p, '/'));) {
		p++;
		if (*p && *p != '/')
			f = open_source(s, p, &why);
	}
	if (why.code)
		report_refused(s, path, &why);
	return f;
}
