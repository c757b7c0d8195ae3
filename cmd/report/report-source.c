/*
 * Finds source files.  A file is searched for at the path in the profile.  If it is missing, the
 * leading folders are removed one by one and the rest is tried below the current folder, since
 * people view profiles in the tree that they build.  Paths come from the profile, so only regular
 * files of a sensible size are read.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES_MAX ((off_t)64 << 20)

static FILE *open_regular(const char *path)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SOURCE_BYTES_MAX)
		return NULL;
	FILE *f = fdopen(fd, "r");
	if (f)
		fd = -1;
	return f;
}

FILE *report_source_open(const char *path)
{
	if (!path[0])
		return NULL;
	FILE *f = open_regular(path);
	for (const char *p = path; !f && (p = strchr(p, '/'));) {
		p++;
		if (*p && *p != '/')
			f = open_regular(p);
	}
	return f;
}
