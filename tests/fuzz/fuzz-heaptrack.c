/* Heap profiles of heaptrack. */

#include "foreign.h"
#include "view/convert/from-heaptrack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_heaptrack_read, data, size);
}
