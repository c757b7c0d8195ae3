#include "cmd/cachedir.h"

#include <stdio.h>
#include <stdlib.h>

char *cachedir_path(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	int n = -1;
	if (cache && cache[0] == '/')
		n = asprintf(&dir, "%s/cprof", cache);
	else if (home && home[0] == '/')
		n = asprintf(&dir, "%s/.cache/cprof", home);
	return n < 0 ? NULL : dir;
}
