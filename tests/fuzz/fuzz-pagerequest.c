/* Requests to `cprof report --http`: only the right token gets the page, and only by GET from a
 * name of this machine. */

#include "cmd/report/pagerequest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char token[] = "0123456789abcdef0123456789abcdef";

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* Of exactly this size, so that a byte too much is found. */
	char *text = malloc(n ? n : 1);
	if (!text)
		return 0;
	memcpy(text, data, n);
	enum pagerequest got = pagerequest_parse(text, n, token, 6060);
	bool has_token = memmem(text, n, token, sizeof(token) - 1) != NULL;
	bool has_name = memmem(text, n, "127.0.0.1:6060", 14) ||
			memmem(text, n, "localhost:6060", 14);
	bool ends = memmem(text, n, "\r\n\r\n", 4) != NULL;
	if (got == PAGEREQUEST_PAGE || got == PAGEREQUEST_ALIVE)
		check(has_token && has_name && ends && memcmp(text, "GET /", 5) == 0);
	check((got == PAGEREQUEST_MORE) == (!ends && n < PAGEREQUEST_BYTES_MAX));
	check(pagerequest_parse(text, n, "another token", 6060) != PAGEREQUEST_PAGE ||
	      memmem(text, n, "another token", 13));
	free(text);
	return 0;
}
