#ifndef CPROF_CMD_CACHEDIR_H
#define CPROF_CMD_CACHEDIR_H

/* $XDG_CACHE_HOME/cprof, or ~/.cache/cprof; NULL where there is no home.  The caller frees. */
char *cachedir_path(void);

#endif
