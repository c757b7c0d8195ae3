#include "base/freememory.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 4000
#define BLOCK_BYTES 10000

/* Of the process; 0: unknown. */
static size_t resident_bytes(void)
{
	unsigned long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f && fscanf(f, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static char *block[BLOCKS];

/* The last block stays, so what is freed is not at the end of the heap. */
static void fragment(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = malloc(BLOCK_BYTES);
		if (block[i])
			memset(block[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < BLOCKS - 1; i++)
		free(block[i]);
}

static void check(void)
{
	size_t before = resident_bytes();
	fragment();
	size_t freed = resident_bytes();
	if (freed < before + FREEMEMORY_KEEP_BYTES || !freememory_is_kept()) {
		tap_skip("freed blocks are returned", "this malloc keeps nothing");
		return;
	}
	freememory_return();
	size_t after = resident_bytes();
	tap_ok(after < before + FREEMEMORY_KEEP_BYTES, "freed blocks between others are returned");
	tap_int(block[BLOCKS - 1][BLOCK_BYTES - 1], 1, "  and the others stay");
	freememory_return();
	tap_ok(resident_bytes() <= after + FREEMEMORY_KEEP_BYTES, "  again: nothing to return");
}

int main(void)
{
	check();
	free(block[BLOCKS - 1]);
	return tap_done();
}
