/* Searches of .eh_frame_hdr's table, compared with linear searches. */

#include "symbolize/cfi/cfi-section.h"
#include "symbolize/cfi/cfi-table.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HDR 0x500000u           /* the header's vaddr */
#define HEAD 12u                /* bytes before the table */
#define N_MAX 70000u

struct entry { int32_t start, fde; };

static uint8_t bytes[HEAD + N_MAX * sizeof(struct entry)];
static uint64_t state = 1;

static uint32_t number(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* A table of n functions, the first of which starts at `first`. */
static void fill(uint64_t n, int32_t first)
{
	struct entry e = { .start = first };
	for (uint64_t i = 0; i < n; i++) {
		e.fde = (int32_t)i;
		memcpy(bytes + HEAD + i * sizeof(e), &e, sizeof(e));
		e.start += (int32_t)number(number(20) ? 60 : 6000);
	}
}

/* The last entry that starts at or below x; -1: none. */
static int64_t expected(uint64_t n, int32_t x)
{
	int64_t found = -1;
	struct entry e;
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&e, bytes + HEAD + i * sizeof(e), sizeof(e));
		if (e.start > x)
			break;
		found = (int64_t)i;
	}
	return found;
}

static bool is_right(struct cfi_table *t, int32_t x)
{
	uint64_t fde;
	int64_t want = expected(t->n, x);
	bool found = cfi_table_search(t, HDR + (uint64_t)(int64_t)x, &fde);
	return found == (want >= 0) && (!found || fde == HDR + (uint64_t)want);
}

static void compare(struct cfi_section *hdr, uint64_t n, int32_t first, const char *how)
{
	struct cfi_table t;
	struct entry last;
	unsigned int n_wrong = 0;
	cfi_table_init(&t, hdr, HEAD, n);
	memcpy(&last, bytes + HEAD + (n - 1) * sizeof(last), sizeof(last));
	uint32_t size = (uint32_t)((int64_t)last.start - first) + 200;
	for (unsigned int i = 0; i < 300; i++)
		n_wrong += !is_right(&t, first - 100 * (first > INT32_MIN) + (int32_t)number(size));
	n_wrong += !is_right(&t, first) + !is_right(&t, last.start) + !is_right(&t, INT32_MAX);
	tap_ok(n_wrong == 0, "%llu entries%s", (unsigned long long)n, how);
	cfi_table_done(&t);
}

int main(void)
{
	static const uint64_t sizes[] = { 1, 2, 3, 15, 16, 17, 255, 256, 257, 4096, 5000, N_MAX };
	struct cfi_section hdr;
	struct cfi_table t;
	uint64_t fde;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fill(sizes[i], -0x4000000);
		cfi_section_bytes(&hdr, bytes, HEAD + sizes[i] * sizeof(struct entry), HDR);
		compare(&hdr, sizes[i], -0x4000000, "");
	}
	/* INT32_MIN is a valid start */
	fill(5000, INT32_MIN);
	cfi_section_bytes(&hdr, bytes, sizeof(bytes), HDR);
	compare(&hdr, 5000, INT32_MIN, ", the lowest number first");

	fill(N_MAX, -0x4000000);
	char path[] = "/tmp/test-cfi-table.XXXXXX";
	int fd = mkstemp(path);
	bool ok = fd >= 0 && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);
	unlink(path);
	if (!ok || cfi_section_file(&hdr, fd, 0, sizeof(bytes), HDR) < 0)
		return 1;
	compare(&hdr, N_MAX, -0x4000000, " of a file");
	cfi_section_done(&hdr);
	if (cfi_section_file(&hdr, fd, 0, sizeof(bytes), HDR) < 0 || ftruncate(fd, 100) < 0)
		return 1;
	cfi_table_init(&t, &hdr, HEAD, N_MAX);
	tap_ok(!cfi_table_search(&t, HDR, &fde), "a file that has shrunk");
	cfi_table_done(&t);
	cfi_section_done(&hdr);
	close(fd);
	return tap_done();
}
