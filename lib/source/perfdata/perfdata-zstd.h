#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_ZSTD_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_ZSTD_H

/* The zstd stream in compressed records; perfdata-zstd-none.c replaces it without libzstd. */

#include <stddef.h>

struct err;
struct perfdata_zstd;

/* -ENOTSUP with e set where cprof was built without libzstd; -ENOMEM. */
int perfdata_zstd_new(struct perfdata_zstd **ret_zstd, struct err *e);
void perfdata_zstd_free(struct perfdata_zstd *z);

/*
 * Decompresses the n_in bytes at in, which continue the stream, into at most n_out bytes at out;
 * *io_done counts the bytes of in consumed so far.  Returns the number of bytes written, or -EINVAL
 * with e set.  Call it until everything is consumed and less than n_out was written.
 */
long perfdata_zstd_run(struct perfdata_zstd *z, const void *in, size_t n_in, size_t *io_done,
		       void *out, size_t n_out, struct err *e);

#endif
