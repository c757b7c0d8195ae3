#ifndef CPROF_SYMBOLIZE_ELF_DEBUGFETCH_H
#define CPROF_SYMBOLIZE_ELF_DEBUGFETCH_H

/*
 * Debug files from the servers in $DEBUGINFOD_URLS, by build id, within one time budget for all
 * files.  A file from a server is used only if it has the requested build id.  If libdebuginfod was
 * missing at build time, debugfetch-none.c is used.
 */

#include <stdbool.h>
#include <stdint.h>

struct debugfetch;
struct dso;
struct err;
struct log;

/* 0; -ENOSYS: built without libdebuginfod, or it is not installed; -ENOENT: DEBUGINFOD_URLS is not
 * set; -ENOMEM.  Sets e on failure. */
int debugfetch_open(uint64_t budget_ns, const struct log *log, struct debugfetch **ret_fetch,
		    struct err *e);

/* Logs the files that were skipped for lack of time. */
void debugfetch_close(struct debugfetch *f);

/* Fetches the debug file of d, which has a build id.  Returns a descriptor and the path of the
 * cached file, or -errno, which is also logged: -ENOENT if no server has it, -ETIME if no time is
 * left, -ESTALE for another build id. */
int debugfetch_get(struct debugfetch *f, const struct dso *d, char **ret_path);

#endif
