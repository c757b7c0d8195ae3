#include "symbolize/pack/unpack-zstd.h"

#include <errno.h>

int unpack_zstd_new(struct unpack_zstd **ret_zstd)
{
	return -ENOTSUP;
}

void unpack_zstd_free(struct unpack_zstd *z)
{
}

void unpack_zstd_restart(struct unpack_zstd *z)
{
}

long unpack_zstd_run(struct unpack_zstd *z, const uint8_t **p, const uint8_t *end, uint8_t *out,
		     size_t n_out)
{
	return -EINVAL;
}
