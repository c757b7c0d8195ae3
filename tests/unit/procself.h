#ifndef CPROF_TESTS_UNIT_PROCSELF_H
#define CPROF_TESTS_UNIT_PROCSELF_H

/* What this process has, by its folders in /proc. */

#include <dirent.h>

static inline int procself_count(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Open descriptors, and one for the folder. */
static inline int n_descriptors(void)
{
	return procself_count("/proc/self/fd");
}

#endif
