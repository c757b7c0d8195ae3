#ifndef CPROF_SYMBOLIZE_ELF_DEBUGFETCH_H
#define CPROF_SYMBOLIZE_ELF_DEBUGFETCH_H

/*
 * Debug files from the servers in $DEBUGINFOD_URLS, by build id, within one budget of time for all
 * files together.  What a server sends is believed only if it has that build id.
 * debugfetch-none.c where libdebuginfod was not there at build time.
 */

#include <stdbool.h>
#include <stdint.h>

struct debugfetch;
struct dso;
struct err;
struct log;

/* 0; -ENOSYS: built without, or not installed; -ENOENT: DEBUGINFOD_URLS is not set; -ENOMEM; with e
 * set. */
int debugfetch_open(uint64_t budget_ns, const struct log *log, struct debugfetch **ret_fetch,
		    struct err *e);

/* Says what was skipped for want of time. */
void debugfetch_close(struct debugfetch *f);

/* Fetches the debug file of d, which has a build id: a descriptor and where it is cached, or
 * -errno, which was told: -ENOENT no server has it, -ETIME no time left, -ESTALE another build
 * id. */
int debugfetch_get(struct debugfetch *f, const struct dso *d, char **ret_path);

#endif
