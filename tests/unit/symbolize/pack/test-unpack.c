/* Bytes from anywhere in a compressed section, compared with zlib. */

#include "symbolize/pack/unpack.h"

#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#define N_BYTES (6u << 20)       /* enough for a few access points */
#define KEEP_BYTES (48u << 20)   /* more than that */

static uint64_t seed = 1;

static uint64_t random_below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static uint8_t *make_noise(void)
{
	uint8_t *p = malloc(N_BYTES);
	for (size_t i = 0; p && i < N_BYTES; i++)
		p[i] = (uint8_t)random_below(256);
	return p;
}

static uint8_t *make_zeros(void)
{
	return calloc(1, N_BYTES);
}

/* Repeated words, as in debug information. */
static uint8_t *make_words(void)
{
	uint8_t *p = malloc(N_BYTES);
	for (size_t i = 0, n; p && i < N_BYTES; i += n) {
		n = 1 + random_below(20);
		if (n > N_BYTES - i)
			n = N_BYTES - i;
		size_t back = i ? 1 + random_below(i < 30000 ? i : 30000) : 0;
		for (size_t k = 0; k < n; k++)
			p[i + k] = back && n > 6 ? p[i + k - back] : (uint8_t)random_below(64);
	}
	return p;
}

static uint8_t *pack(const uint8_t *bytes, int level, int strategy, uLong *ret_n)
{
	z_stream z = {0};
	uLong n = compressBound(N_BYTES) + 4096;
	uint8_t *packed = malloc(n);
	if (!packed || deflateInit2(&z, level, Z_DEFLATED, 15, 9, strategy) != Z_OK)
		abort();
	z.next_in = (uint8_t *)bytes;
	z.avail_in = N_BYTES;
	z.next_out = packed;
	z.avail_out = (uInt)n;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	*ret_n = z.total_out;
	deflateEnd(&z);
	return packed;
}

/* Parts in order with gaps, then in no order; each must be correct. */
static unsigned n_wrong(struct unpack *u, const uint8_t *bytes)
{
	static uint8_t part[300000];
	unsigned n_bad = 0;
	uint64_t off = 0;
	for (unsigned i = 0; i < 60; i++) {
		size_t n = random_below(sizeof(part));
		if (i >= 30)
			off = random_below(N_BYTES);
		if (n > N_BYTES - off)
			n = (size_t)(N_BYTES - off);
		n_bad += unpack_copy(u, off, part, n) != n || memcmp(part, bytes + off, n) != 0;
		off += random_below(200000);
		if (off > N_BYTES)
			off = 0;
	}
	return n_bad;
}

static void check(const char *what, const uint8_t *bytes, int level, int strategy)
{
	uLong n;
	uint8_t *packed = pack(bytes, level, strategy, &n);
	int fd = memfd_create("packed", MFD_CLOEXEC);
	if (fd < 0 || write(fd, "head", 4) != 4 || write(fd, packed, n) != (ssize_t)n)
		abort();
	for (unsigned i = 0; i < 4; i++) {
		struct unpack_from from = { .fd = fd, .off = 4, .n_bytes = n };
		struct unpack *u;
		if (i & 1)
			from = (struct unpack_from){ .memory = packed, .fd = -1, .n_bytes = n };
		tap_int(unpack_open(UNPACK_ZLIB, &from, N_BYTES, i & 2 ? 0 : KEEP_BYTES,
				    &u), 0, what);
		tap_ok(n_wrong(u, bytes) == 0, "%s, level %d, strategy %d: %s, %s", what, level,
		       strategy, i & 1 ? "from memory" : "from a file",
		       i & 2 ? "a part kept" : "all kept");
		unpack_close(u);
	}
	close(fd);
	free(packed);
}

static void check_kinds(uint8_t *(*make)(void), const char *what)
{
	uint8_t *bytes = make();
	if (!bytes)
		abort();
	check(what, bytes, 0, Z_DEFAULT_STRATEGY);
	check(what, bytes, 1, Z_DEFAULT_STRATEGY);
	check(what, bytes, 9, Z_DEFAULT_STRATEGY);
	check(what, bytes, 6, Z_HUFFMAN_ONLY);
	check(what, bytes, 6, Z_FIXED);
	free(bytes);
}

/* The file ends early, or is truncated while it is open: earlier bytes are available. */
static void check_short(void)
{
	uLong n;
	static uint8_t part[1000];
	uint8_t *bytes = make_words(), *packed = pack(bytes, 6, Z_DEFAULT_STRATEGY, &n);
	int fd = memfd_create("packed", MFD_CLOEXEC);
	struct unpack_from from = { .fd = fd, .n_bytes = n };
	struct unpack *u;
	if (fd < 0 || write(fd, packed, n) != (ssize_t)n)
		abort();
	for (uint64_t keep = 0; keep <= KEEP_BYTES; keep += KEEP_BYTES) {
		tap_int(unpack_open(UNPACK_ZLIB, &from, N_BYTES, keep, &u), 0, "opened");
		tap_int((long)unpack_copy(u, 0, part, sizeof(part)), sizeof(part), "the beginning");
		if (ftruncate(fd, (off_t)n / 2))
			abort();
		tap_ok(unpack_copy(u, N_BYTES - 1000, part, sizeof(part)) < sizeof(part),
		       "the end of a file cut in half");
		tap_int((long)unpack_copy(u, 0, part, sizeof(part)), sizeof(part),
			"the beginning again");
		tap_ok(memcmp(part, bytes, sizeof(part)) == 0, "as it was");
		unpack_close(u);
		if (pwrite(fd, packed, n, 0) != (ssize_t)n)
			abort();
	}
	close(fd);
	free(bytes);
	free(packed);
}

static void check_refused(void)
{
	static const uint8_t junk[100] = { 0x78, 0x9c, 7, 7, 7 };
	struct unpack_from from = { .memory = junk, .fd = -1, .n_bytes = sizeof(junk) };
	struct unpack *u;
	uint8_t part[10];
	tap_int(unpack_open(UNPACK_ZLIB, &from, 1u << 30, 0, &u), -EINVAL, "more than can be");
	tap_int(unpack_open(UNPACK_ZLIB, &from, 0, 0, &u), -EINVAL, "nothing");
	tap_int(unpack_open(77, &from, 10, 0, &u), -EINVAL, "an unknown kind");
	tap_int(unpack_open(UNPACK_ZLIB, &from, 1000, 0, &u), 0, "junk");
	tap_int((long)unpack_copy(u, 0, part, sizeof(part)), 0, "junk gives nothing");
	unpack_close(u);
}

int main(void)
{
	check_kinds(make_noise, "noise");
	check_kinds(make_zeros, "zeros");
	check_kinds(make_words, "words");
	check_short();
	check_refused();
	return tap_done();
}
