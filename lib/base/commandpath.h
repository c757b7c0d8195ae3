#ifndef CPROF_BASE_COMMANDPATH_H
#define CPROF_BASE_COMMANDPATH_H

#include <limits.h>

/* The file that execvp(3) would execute: file itself if it has a slash or PATH is not set,
 * otherwise from a folder of PATH, stored in name; NULL: there is none. */
const char *commandpath_find(const char *file, char name[PATH_MAX]);

#endif
