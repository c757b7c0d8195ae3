/* Files of the agent's spool: what was read is written as the same lines, and read again. */

#include "cmd/agent/keyvalue.h"
#include "cmd/agent/spool.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void write_again(const struct keyvalues *k)
{
	struct keyvalues again;
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	check(to != NULL);
	for (size_t i = 0; i < k->pair.n; i++)
		keyvalue_print(to, k->pair.v[i].key, k->pair.v[i].value);
	check(fclose(to) == 0);
	check(keyvalues_parse(text, n, &again) == 0 && again.pair.n == k->pair.n);
	for (size_t i = 0; i < k->pair.n; i++)
		check(strcmp(again.pair.v[i].key, k->pair.v[i].key) == 0 &&
		      strcmp(again.pair.v[i].value, k->pair.v[i].value) == 0);
	keyvalues_done(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct keyvalues k;
	struct spool_name name;
	char text[SPOOL_NAME_MAX] = "", again[SPOOL_NAME_MAX];
	int r = keyvalues_parse((const char *)data, size, &k);
	check(r == 0 || r == -EINVAL);
	if (r == 0) {
		write_again(&k);
		keyvalues_done(&k);
	}
	memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
	if (spool_name_parse(text, SPOOL_PROFILE, &name)) {
		spool_name_text(&name, SPOOL_PROFILE, again);
		check(strcmp(text, again) == 0);
	}
	return 0;
}
