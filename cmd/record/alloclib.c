#include "cmd/record/alloclib.h"

#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {
	CPROF_ALLOCLIB_FOLDER, "../lib/preload",
};

static char *find_in(const char *folder, const char *place)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s/libcprof-alloc.so",
			 *place == '/' ? "" : folder, *place == '/' ? "" : "/", place);
	return n < (int)sizeof(path) && access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

char *alloclib_path(struct err *e)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0) {
		err_errno(e, errno, "cannot find libcprof-alloc.so: /proc/self/exe");
		return NULL;
	}
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *found = find_in(self, places[i]);
		if (found)
			return found;
	}
	err_set(e, ENOENT, "libcprof-alloc.so is not installed beside '%s'", self);
	return NULL;
}
