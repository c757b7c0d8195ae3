#include "proto/gzip-whole.h"

size_t gzip_whole_bytes_max(void)
{
	return 0;
}

uint8_t *gzip_whole_deflate(const void *data, size_t n_bytes, int level, size_t *ret_n)
{
	return NULL;
}

bool gzip_whole_inflate(const void *data, size_t n_bytes, uint8_t *out, size_t n_out,
			size_t *ret_n)
{
	return false;
}
