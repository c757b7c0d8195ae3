/* The file is opened with the caller's rights, so it has to be readable by everyone. */

#include "cmd/settings.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTINGS_BYTES_MAX 65536

static const char key[] = "allow-group";

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Reads "KEY = NAME" into name; false if the line, which has no blanks at its ends, is not that. */
static bool read_line(const char *line, char name[LOGIN_NAME_MAX])
{
	size_t n = strlen(key);
	if (strncmp(line, key, n) != 0)
		return false;
	line += n;
	while (is_blank(*line))
		line++;
	if (*line++ != '=')
		return false;
	while (is_blank(*line))
		line++;
	n = strcspn(line, " \t");
	if (n == 0 || n >= LOGIN_NAME_MAX || line[n])
		return false;
	memcpy(name, line, n + 1);
	return true;
}

int settings_parse(const char *text, size_t n_bytes, bool (*is_member)(void *ctx, const char *name),
		   void *ctx, struct err *e)
{
	const char *end = text + n_bytes;
	int allowed = 0;
	for (unsigned number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *next = stop ? stop + 1 : end;
		char line[512], name[LOGIN_NAME_MAX];
		stop = stop ? stop : end;
		while (text < stop && is_blank(*text))
			text++;
		while (stop > text && is_blank(stop[-1]))
			stop--;
		size_t n = (size_t)(stop - text);
		if (n >= sizeof(line) || memchr(text, '\0', n))
			return err_set(e, EINVAL, "line %u is too long, or not text", number);
		memcpy(line, text, n);
		line[n] = '\0';
		text = next;
		if (n == 0 || line[0] == '#')
			continue;
		if (!read_line(line, name))
			return err_set(e, EINVAL, "line %u is not '%s = GROUP'", number, key);
		if (is_member(ctx, name))
			allowed = 1;
	}
	return allowed;
}

static bool is_in_group(void *ctx, const char *name)
{
	const struct group *group = getgrnam(name);
	(void)ctx;
	if (!group)
		return false;
	gid_t gid = group->gr_gid;
	if (gid == getgid())
		return true;
	int n = getgroups(0, NULL);
	CLEANUP_FREE gid_t *list = n > 0 ? malloc((size_t)n * sizeof(*list)) : NULL;
	n = list ? getgroups(n, list) : 0;
	for (int i = 0; i < n; i++)
		if (list[i] == gid)
			return true;
	return false;
}

static const char *why_untrusted(const struct stat *st)
{
	if (st->st_uid != 0)
		return "belongs to another user than root";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written to by users other than root";
	return NULL;
}

/* Opens the file if only root can change it; -ENOENT if it does not exist. */
static int open_trusted(const char *path, struct err *e)
{
	char folder[PATH_MAX], name[PATH_MAX];
	struct stat st;
	snprintf(folder, sizeof(folder), "%s", path);
	snprintf(name, sizeof(name), "%s", path);
	CLEANUP_CLOSE int dir_fd = open(dirname(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSE int fd = dir_fd < 0 ? -1
		: openat(dir_fd, basename(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? err_set(e, ELOOP, "it is a symbolic link")
				      : err_set(e, errno, "%s", strerror(errno));
	if (fstat(dir_fd, &st) < 0)
		return err_set(e, errno, "%s", strerror(errno));
	if (why_untrusted(&st))
		return err_set(e, EPERM, "its directory %s", why_untrusted(&st));
	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "it is not a regular file");
	if (why_untrusted(&st))
		return err_set(e, EPERM, "it %s", why_untrusted(&st));
	return TAKE_FD(fd);
}

static int read_settings(const char *path, struct err *e)
{
	CLEANUP_CLOSE int fd = open_trusted(path, e);
	if (fd < 0)
		return fd;
	CLEANUP_FREE char *text = malloc(SETTINGS_BYTES_MAX + 1);
	if (!text)
		return err_set(e, ENOMEM, "%s", strerror(ENOMEM));
	size_t n = 0;
	ssize_t got;
	while ((got = read(fd, text + n, SETTINGS_BYTES_MAX + 1 - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		return err_set(e, errno, "%s", strerror(errno));
	if (n > SETTINGS_BYTES_MAX)
		return err_set(e, EFBIG, "it is larger than %u KiB", SETTINGS_BYTES_MAX >> 10);
	return settings_parse(text, n, is_in_group, NULL, e);
}

bool settings_allow(const char *path)
{
	struct err e = { 0 };
	int r = read_settings(path, &e);
	if (r < 0 && r != -ENOENT) {
		fprintf(stderr, "cprof: warning: %s is ignored: ", path);
		printable_text(stderr, e.what);
		fputc('\n', stderr);
	}
	return r > 0;
}
