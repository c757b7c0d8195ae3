#include "base/hugemem.h"
#include "tap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20)

/* Does /proc/self/smaps show this flag for the mapping that begins at p and has n_bytes? */
static bool has_flag(const void *p, size_t n_bytes, const char *flag)
{
	char line[512], range[64];
	bool is_here = false;
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t at = (uintptr_t)p;
	snprintf(range, sizeof(range), "%lx-%lx ", (unsigned long)at,
		 (unsigned long)(at + n_bytes));
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, range, strlen(range)) == 0)
			is_here = true;
		if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			break;
	}
	bool found = f && is_here && strstr(line, flag);
	if (f)
		fclose(f);
	return found;
}

static void check(size_t n_bytes, size_t n_mapped)
{
	uint8_t *p = hugemem_new(n_bytes);
	tap_ok(p && (uintptr_t)p % HUGE_BYTES == 0, "%zu bytes are aligned", n_bytes);
	if (!p)
		return;
	bool is_zero = true;
	for (size_t i = 0; i < n_bytes; i++)
		is_zero &= p[i] == 0;
	tap_ok(is_zero, "and zero");
	p[n_bytes - 1] = 7;
	tap_ok(!has_flag(p, n_mapped, " hg"), "no huge page at first");
	hugemem_join(p, n_bytes);
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0)
		tap_ok(has_flag(p, n_mapped, " hg"), "nothing else is mapped, as huge pages");
	tap_int(p[n_bytes - 1], 7, "with what was there");
	memset(p, 1, n_bytes);
	hugemem_free(p, n_bytes);
	tap_ok(!has_flag(p, n_mapped, " hg"), "they are freed");
}

int main(void)
{
	check(1, HUGE_BYTES);
	check(HUGE_BYTES, HUGE_BYTES);
	check(HUGE_BYTES + 1, 2 * HUGE_BYTES);
	tap_ok(!hugemem_new(SIZE_MAX), "too much is no memory");
	hugemem_free(NULL, 1);
	return tap_done();
}
