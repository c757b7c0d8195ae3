#include "symbolize/runtime/php-layout.h"

#include <stddef.h>

static const struct php_layout layouts[] = {
	/* api       last  opcodes  file  first_line  bytes */
	{ 20210902,  68,   72,      144,  152,        160 },
	{ 20220829,  80,   88,      152,  160,        168 },
	{ 20230831,  76,   80,      144,  152,        160 },
	{ 20240924,  96,   104,     168,  176,        184 },
};

const struct php_layout *php_layout_of(uint32_t api)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].api == api)
			return &layouts[i];
	return NULL;
}
