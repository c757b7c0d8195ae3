/* Numbers with units: an accepted text must have the value that was parsed. */

#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_outcome(int code, uint64_t value)
{
	check(code == 0 || code == -EINVAL || code == -ERANGE);
	check(code == 0 || value == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	uint64_t ns = 7, n_bytes = 7, number = 7;
	check_outcome(units_parse_duration(text, &ns), ns);
	check_outcome(units_parse_size(text, &n_bytes), n_bytes);
	int code = units_parse_u64(text, &number);
	check_outcome(code, number);
	if (code == 0 && strspn(text, "0123456789") == strlen(text))
		check(number == strtoull(text, NULL, 10));
	char buf[UNITS_TEXT_MAX];
	check(strlen(units_size_text(n_bytes, buf)) < sizeof(buf));
	check(strlen(units_duration_text(ns, buf)) < sizeof(buf));
	free(text);
	return 0;
}
