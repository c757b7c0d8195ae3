/* A description of a tracepoint, NUL, and the data of a sample. */

#include "source/schedpoint.h"
#include "source/tracepoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fields(const char *text, const uint8_t *raw, size_t n_bytes)
{
	static const char *const name[] = { "common_flags", "pid", "prev_state", "", "x" };
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		struct tracepoint_field f;
		uint64_t little, big;
		if (!tracepoint_field(text, name[i], &f))
			continue;
		assert(f.n_bytes && f.n_bytes <= 8 && f.offset <= UINT16_MAX);
		bool has = tracepoint_value(&f, raw, n_bytes, false, &little);
		assert(has == (f.offset + f.n_bytes <= n_bytes));
		assert(has == tracepoint_value(&f, raw, n_bytes, true, &big));
		assert(!has || __builtin_bswap64(little) >> (64 - 8 * f.n_bytes) == big);
	}
}

/* The data are a copy of their own, so that a read past their end is noticed. */
static void check_point(const struct schedpoint *p, const uint8_t *raw, size_t n_bytes)
{
	struct schedpoint_seen seen;
	uint8_t *own = malloc(n_bytes + 1);
	if (!own)
		return;
	memcpy(own, raw, n_bytes);
	for (size_t n = n_bytes; n + 9 > n_bytes && n <= n_bytes; n--)
		if (schedpoint_read(p, own, n, n & 1, &seen))
			assert(p->kind == SCHEDPOINT_SWITCH || !seen.next_tid);
	free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schedpoint p;
	uint64_t value;
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	size_t n_text = strlen(text), from = n_text < size ? n_text + 1 : size;
	const char *at = text;
	if (tracepoint_constant(&at, &value))
		assert(at > text && at <= text + n_text);
	check_fields(text, data + from, size - from);
	if (schedpoint_init(&p, text))
		check_point(&p, data + from, size - from);
	else
		assert(p.kind == SCHEDPOINT_OTHER);
	free(text);
	return 0;
}
