#ifndef CPROF_BASE_PATH_H
#define CPROF_BASE_PATH_H

#include <string.h>

/* The last component, a pointer into the path.  A path that ends in a slash is returned whole, so
 * the result is empty only if the path is. */
static inline const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

#endif
