#ifndef CPROF_PROBE_PROBEFILES_H
#define CPROF_PROBE_PROBEFILES_H

/* The files whose code a process has mapped, with their USDT probes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct err;
struct evsdt;
struct host;

/* Of one process a file is read once; of more than so many, the rest is left out. */
#define PROBEFILES_MAX 4096u

struct probefiles_id {
	uint32_t maj, min;
	uint64_t ino;
};

struct probefiles {
	const struct host *host;
	VEC(struct probefiles_id) seen;
	size_t n_unread;        /* files that could not be opened, or only as a copy */
};
void probefiles_done(struct probefiles *f);

struct probefiles_file {
	const char *name;       /* as the process sees it */
	int fd;                 /* the file that is mapped */
	const struct evsdt *probes;
};

/* Calls fn for each file with probes that process pid has mapped and that was not seen before in f,
 * until it returns an error.  All is borrowed during the call.  That error; or why the mappings
 * cannot be read; e is set. */
typedef int probefiles_fn(void *ctx, const struct probefiles_file *file, struct err *e);
int probefiles_each(struct probefiles *f, pid_t pid, probefiles_fn *fn, void *ctx, struct err *e);

#endif
