#ifndef CPROF_CMD_CACHEDIR_H
#define CPROF_CMD_CACHEDIR_H

/* $XDG_CACHE_HOME/cprof, or ~/.cache/cprof; NULL when neither is set.  The caller frees it. */
char *cachedir_path(void);

#endif
