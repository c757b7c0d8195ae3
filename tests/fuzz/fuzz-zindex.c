/*
 * An index with correct checksums but arbitrary contents: the number of points (1 byte), for each
 * its place (u16 in the section, u16 and 1 byte in the compressed bytes) and the byte that fills
 * its window, then bytes to overwrite the file with (u16 size, u16 offset), then the compressed
 * bytes.
 * Nothing is accessed out of bounds, and reading twice gives the same bytes.
 */

#include "symbolize/pack/zindex.h"
#include "symbolize/pack/unpack.h"

#include "fuzzdir.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_BYTES (1u << 20)       /* of the section */
#define N_POINTS_MAX 8
#define PLACE_BYTES 16u          /* unit of the u16 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_points(struct bytes *b, const struct zindex_key *key)
{
	struct zindex *ix;
	uint8_t window[ZINDEX_WINDOW_BYTES];
	fuzzdir_check(zindex_open(fuzzdir, key, &ix) == 0);
	for (unsigned n = bytes_u8(b) % (N_POINTS_MAX + 1); n && !b->bad; n--) {
		struct zindex_point point = { .off = (uint64_t)bytes_u16(b) * PLACE_BYTES };
		point.in_off = bytes_u16(b);
		point.in_bit = bytes_u8(b);
		memset(window, bytes_u8(b), sizeof(window));
		zindex_add(ix, &point, window);
	}
	zindex_close(ix);
}

static void damage(struct bytes *b)
{
	uint16_t n_over = bytes_u16(b), at = bytes_u16(b);
	const void *over = bytes_take(b, n_over);
	if (over)
		fuzzdir_damage(bytes_of(over, n_over), at);
}

static void ask(struct unpack *u)
{
	static uint8_t part[2][777];
	for (uint64_t off = N_BYTES - 1; off < N_BYTES; off -= 1 + N_BYTES / 9) {
		size_t n = N_BYTES - off < sizeof(part[0]) ? N_BYTES - off : sizeof(part[0]);
		size_t n_first = unpack_copy(u, off, part[0], n);
		fuzzdir_check(n_first <= n && unpack_copy(u, off, part[1], n_first) == n_first &&
		      memcmp(part[0], part[1], n_first) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct bytes points = b;
	bytes_take(&b, (b.p < b.end ? b.p[0] % (N_POINTS_MAX + 1) : 0) * 6u + 1);
	struct bytes over = b;
	bytes_u16(&b);
	bytes_u16(&b);
	struct bytes n_over = over;
	bytes_take(&b, bytes_u16(&n_over));
	size_t n_packed = bytes_left(&b);
	if (b.bad || n_packed < 2 || N_BYTES / 1032 > n_packed)
		return 0;
	fuzzdir_make("/dev/shm");
	int fd = memfd_create("packed", MFD_CLOEXEC);
	fuzzdir_check(fd >= 0 && write(fd, b.p, n_packed) == (ssize_t)n_packed);
	struct zindex_key key = { .n_packed = n_packed, .n_bytes = N_BYTES };
	struct unpack_from from = { .fd = fd, .n_bytes = n_packed, .cache_dir = fuzzdir };
	struct unpack *u;
	fuzzdir_check(zindex_key_set_file(&key, fd));
	make_points(&points, &key);
	damage(&over);
	if (unpack_open(UNPACK_ZLIB, &from, N_BYTES, 0, &u) == 0) {
		ask(u);
		unpack_close(u);
	}
	close(fd);
	fuzzdir_clean();
	return 0;
}
