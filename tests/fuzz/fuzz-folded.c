/* Folded stacks. */

#include "foreign.h"
#include "view/convert/from-folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_folded_read, data, size);
}
