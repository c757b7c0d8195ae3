#include "symbolize/pack/unpack-zstd.h"

#include <errno.h>
#include <zstd.h>

/* The frame tells libzstd how large a window to keep.  Linkers use 2 MB, and 8 MB at their highest
 * level; frames that want more are refused. */
#define WINDOW_LOG_MAX 23

/* struct unpack_zstd is libzstd's stream. */
static ZSTD_DStream *stream(struct unpack_zstd *z)
{
	return (ZSTD_DStream *)z;
}

int unpack_zstd_new(struct unpack_zstd **ret_zstd)
{
	ZSTD_DStream *s = ZSTD_createDStream();
	if (!s)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	*ret_zstd = (struct unpack_zstd *)s;
	return 0;
}

void unpack_zstd_free(struct unpack_zstd *z)
{
	ZSTD_freeDStream(stream(z));
}

void unpack_zstd_restart(struct unpack_zstd *z)
{
	ZSTD_DCtx_reset(stream(z), ZSTD_reset_session_only);
}

long unpack_zstd_run(struct unpack_zstd *z, const uint8_t **p, const uint8_t *end, uint8_t *out,
		     size_t n_out)
{
	ZSTD_inBuffer from = { *p, (size_t)(end - *p), 0 };
	ZSTD_outBuffer to = { out, n_out, 0 };
	if (ZSTD_isError(ZSTD_decompressStream(stream(z), &to, &from)))
		return -EINVAL;
	*p += from.pos;
	return (long)to.pos;
}
