/* What a program has written into the memory for samples of allocations: whole records and parts.
 * What was decoded is inside of the bytes that were copied. */

#include "source/allocring.h"

#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_record(const struct record *r, const uint8_t *raw, size_t n_bytes)
{
	const struct record_sample *s = &r->sample;
	check(r->id >= ALLOCFORMAT_ALLOC && r->id <= ALLOCFORMAT_RESTORE);
	if (s->user_stack)
		check(s->user_stack >= raw && s->n_user_stack_bytes <= n_bytes &&
		      s->user_stack + s->n_user_stack_bytes <= raw + n_bytes);
	if (r->id <= ALLOCFORMAT_UNTRACKED)
		check(s->weight && (const uint8_t *)s->user_regs >= raw &&
		      (const uint8_t *)(s->user_regs + ALLOCFORMAT_N_REGS) <= raw + n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size & ~(size_t)7;
	struct record r;
	if (!n || n > RECORD_BYTES_MAX)
		return 0;
	uint64_t *raw = malloc(n);
	if (!raw)
		return 0;
	memcpy(raw, data, n);
	if (allocring_decode(raw, n, &r))
		check_record(&r, (const uint8_t *)raw, n);
	/* with a header that fits, so that more inputs are decoded */
	struct { uint32_t type; uint16_t misc, size; } h = { 9, 2, (uint16_t)n };
	memcpy(raw, &h, sizeof(h));
	if (allocring_decode(raw, n, &r))
		check_record(&r, (const uint8_t *)raw, n);
	free(raw);
	return 0;
}
