#include "base/commandpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *commandpath_find(const char *file, char name[PATH_MAX])
{
	const char *path = getenv("PATH");
	if (strchr(file, '/') || !path)
		return file;
	for (;; path++) {
		int n = (int)strcspn(path, ":");
		if (snprintf(name, PATH_MAX, "%.*s%s%s", n, path, n ? "/" : "", file) < PATH_MAX &&
		    access(name, X_OK) == 0)
			return name;
		path += n;
		if (!*path)
			return NULL;
	}
}
