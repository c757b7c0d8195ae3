#ifndef CPROF_PROTO_DEFLATE_H
#define CPROF_PROTO_DEFLATE_H

/*
 * A deflate (RFC 1951) encoder that is fast rather than thorough, for the long repetitions of
 * profiles: nearly twice as fast as zlib at level 1, and as small.
 */

#include <stddef.h>

struct deflate;

/* `write` receives the compressed bytes in large pieces and returns 0 or -errno.  NULL: there is no
 * memory. */
struct deflate *deflate_new(int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx);
void deflate_free(struct deflate *d);

/* Puts bytes as they are before the stream, before the first deflate_write, or after it, after
 * deflate_finish: at most 64. */
void deflate_put_raw(struct deflate *d, const void *data, size_t n_bytes);

/* 0, or an error of `write`, after which only deflate_free is allowed. */
int deflate_write(struct deflate *d, const void *data, size_t n_bytes);

/* Ends the stream; deflate_flush then hands on what is left. */
int deflate_finish(struct deflate *d);
int deflate_flush(struct deflate *d);

#endif
