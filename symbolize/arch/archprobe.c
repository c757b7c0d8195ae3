/* Numbers in operands: both assemblers write them like C does. */

#include "symbolize/arch/archprobe.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool archprobe_number(const char **at, int64_t *ret)
{
	const char *digit = *at + (**at == '-');
	bool is_hex = digit[0] == '0' && (digit[1] | 32) == 'x';
	char *end;
	if (!isdigit((unsigned char)*digit))
		return false;
	/* Constants beyond INT64_MAX are unsigned ones. */
	errno = 0;
	uint64_t value = strtoull(digit, &end, is_hex ? 16 : 10);
	if (errno)
		return false;
	*ret = (int64_t)(*at < digit ? -value : value);
	*at = end;
	return true;
}
