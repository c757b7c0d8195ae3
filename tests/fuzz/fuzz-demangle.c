/*
 * Names in symbol tables and debug information.  Whatever the name, the demangled one is neither
 * empty nor longer than the limit.
 */

#include "symbolize/name/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum demangle_mode modes[] = { DEMANGLE_SIMPLE, DEMANGLE_NONE, DEMANGLE_FULL };
	char *linkage = strndup((const char *)data, size);
	if (!linkage)
		abort();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		char *name = demangle_as(linkage, modes[i]);
		if (name && (!*name || strlen(name) > DEMANGLE_BYTES_MAX))
			abort();
		free(name);
	}
	free(linkage);
	return 0;
}
