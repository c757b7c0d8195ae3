#ifndef CPROF_BASE_PATH_H
#define CPROF_BASE_PATH_H

#include <string.h>

/* The last component: what follows the last slash, or all of a path without one.  It points into
 * the path, and is empty for a path that ends in a slash. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

#endif
