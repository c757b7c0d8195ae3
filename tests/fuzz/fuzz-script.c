/* The text of `perf script`. */

#include "foreign.h"
#include "view/convert/from-script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return convert_foreign(from_script_read, data, size);
}
