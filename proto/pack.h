#ifndef CPROF_PROTO_PACK_H
#define CPROF_PROTO_PACK_H

/*
 * A fast writer of deflate (RFC 1951): about as small as zlib's level 1, in half of its time.
 * Bytes are gathered, and packed block by block.
 */

#include <stddef.h>
#include <stdint.h>

/* Bits on their way out, the first lowest. */
struct pack_bits {
	uint8_t *to;           /* where the next whole byte goes */
	uint64_t bits;         /* fewer than eight */
	unsigned n;
};

struct pack {
	int (*write)(void *ctx, const void *data, size_t n_bytes);
	void *ctx;
	uint8_t *in;           /* the window, then the block that is gathered */
	size_t n_window, n_in; /* bytes of the window; of both */
	uint32_t *recent;      /* private, as what follows: by hash, where such bytes stand */
	uint32_t *token;
	uint8_t *out;
	struct pack_bits bits; /* on their way into out */
};

/* `write` gets the packed bytes in large pieces and returns 0 or -errno.  0 or -ENOMEM; on failure
 * there is nothing to close. */
int pack_open(struct pack *p, int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx);

/* Packs n bytes.  0, or what `write` returned; after a failure only pack_close is allowed. */
int pack_write(struct pack *p, const void *data, size_t n_bytes);

/* Writes all that is left.  0, or what `write` returned. */
int pack_finish(struct pack *p);

/* Also for a zeroed struct. */
void pack_close(struct pack *p);

#endif
