#ifndef CPROF_VIEW_CONVERT_FROMPACKED_H
#define CPROF_VIEW_CONVERT_FROMPACKED_H

/* Text in gzip or zstd, whole files in memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define FROMPACKED_PEEK_BYTES 64u

bool frompacked_is(const void *data, size_t n_bytes);

/* The first bytes of the text, as many as there are; 0: damaged, or not supported. */
size_t frompacked_peek(const void *data, size_t n_bytes, char ret[FROMPACKED_PEEK_BYTES]);

/* The caller frees *ret_data.  -EINVAL: damaged; -ENOTSUP: cprof was built without libzstd; -E2BIG:
 * larger than gzip_plausible_bytes; -ENOMEM. */
int frompacked_read(const void *data, size_t n_bytes, uint8_t **ret_data, size_t *ret_n,
		    struct err *e);

#endif
