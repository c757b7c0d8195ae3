#include "symbolize/elf/symxz.h"

#include <errno.h>

int symxz_unpack(const void *xz, size_t n_xz_bytes, uint8_t **ret_bytes, size_t *ret_n_bytes)
{
	return -ENOTSUP;
}
