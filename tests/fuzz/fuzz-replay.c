/* A saved stream of records: reading it ends, normally or with an error that has a text. */

#include "tests/tools/replay.h"

#include "base/err.h"
#include "source/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* aligned, with the exact size */
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	struct source *s = NULL;
	struct err e = { 0 };
	int code = replay_open_memory(copy, size, &s, &e);
	if (code < 0) {
		if (s || !e.what[0] || e.code != code)
			abort();
		free(copy);
		return 0;
	}
	uint32_t n_events;
	replay_events(s, &n_events);
	struct record r;
	size_t n_records = 0;
	while ((code = source_next(s, &r, &e)) == SOURCE_RECORD) {
		if ((r.event >= n_events && r.event != RECORD_NO_EVENT) || ++n_records > size / 8)
			abort();
	}
	if (code != SOURCE_END && (code != -EINVAL || !e.what[0]))
		abort();
	source_close(s);
	free(copy);
	return 0;
}
