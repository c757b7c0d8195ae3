/* Heap profiles of gperftools. */

#include "foreign.h"
#include "view/convert/from-gperftools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_gperftools_read, data, size);
}
