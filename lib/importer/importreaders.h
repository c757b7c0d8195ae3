#ifndef CPROF_IMPORTER_IMPORTREADERS_H
#define CPROF_IMPORTER_IMPORTREADERS_H

/*
 * Several threads that import the same file.  Each reads all of its records by a source of its own,
 * and unwinds the samples of its own threads (engine/shards.h).
 */

#include <stdint.h>

struct cprof_importer;
struct err;

/* How many readers the configuration and the file suggest; 1: no others. */
uint32_t importreaders_choose(const struct cprof_importer *m);

/* Processes all records by n readers, at least two.  As cprof_importer_run; -EAGAIN: nothing was
 * read, since there is no memory, or no thread, for so many. */
int importreaders_run(struct cprof_importer *m, uint32_t n, struct err *e);

#endif
