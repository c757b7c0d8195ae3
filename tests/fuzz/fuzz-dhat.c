/* Heap profiles of DHAT. */

#include "foreign.h"
#include "view/convert/from-dhat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_dhat_read, data, size);
}
