#include "cmd/beside.h"

#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *find_in(const char *own, const char *folder, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s/%s", *folder == '/' ? "" : own,
			 *folder == '/' ? "" : "/", folder, name);
	return n < (int)sizeof(path) && access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

char *beside_find(const char *const *folder, size_t n_folders, const char *name, struct err *e)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0) {
		err_errno(e, errno, "cannot find %s: /proc/self/exe", name);
		return NULL;
	}
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < n_folders; i++) {
		char *found = find_in(self, folder[i], name);
		if (found)
			return found;
	}
	err_set(e, ENOENT, "%s is not installed beside '%s'", name, self);
	return NULL;
}
