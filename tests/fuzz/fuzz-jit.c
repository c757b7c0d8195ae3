/* Perf maps and jitdumps that grow: the input arrives in two parts. */

#include "symbolize/jit/jitcode.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/jit/perfmap.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct jitcode *j)
{
	uint64_t *replaced;
	long n = jitcode_settle(j, &replaced);
	for (long i = 1; i < n; i++)
		assert(replaced[i - 1] <= replaced[i]);
	free(replaced);
	for (uint32_t i = 0; i < j->n && i < 256; i++) {
		const struct jitcode_entry *e = &j->entry[i];
		assert(e->n_bytes && strlen(e->name) <= JITCODE_NAME_BYTES_MAX);
		const struct jitcode_entry *found = jitcode_find(j, e->start, e->from_ns);
		assert(!found || (found->start <= e->start &&
				  e->start - found->start < found->n_bytes));
		const struct jitcode_line *l = jitcode_find_line(e, e->start + e->n_bytes - 1);
		assert(!l || l->off < e->n_bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitcode j;
	struct jitdump d;
	uint64_t bad = 0;
	size_t half = size / 2, want;

	jitcode_init(&j, NULL);
	size_t used = perfmap_take(&j, (const char *)data, half, 1, &bad);
	assert(used <= half);
	check(&j);
	perfmap_take(&j, (const char *)data + used, size - used, 2, &bad);
	check(&j);
	jitcode_done(&j);

	jitcode_init(&j, NULL);
	jitdump_init(&d);
	long r = jitdump_take(&d, &j, data, half, 1000, &want);
	assert(r <= (long)half);
	check(&j);
	if (r >= 0) {
		r = jitdump_take(&d, &j, data + r, size - (size_t)r, 2000, &want);
		assert(r <= (long)size);
		check(&j);
	}
	jitdump_done(&d);
	jitcode_done(&j);
	return 0;
}
