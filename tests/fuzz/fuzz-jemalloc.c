/* Heap profiles of jemalloc. */

#include "foreign.h"
#include "view/convert/from-jemalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_jemalloc_read, data, size);
}
