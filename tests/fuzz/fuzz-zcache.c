/*
 * A cache file with correct checksums but arbitrary contents: where decompression continues (u16, 1
 * byte), the number of cached bytes (u16), the cached bytes (after their u16 size), then bytes to
 * overwrite the file with (u16 size, u16 offset), then the compressed bytes.  Nothing is accessed
 * out of bounds, and reading twice gives the same bytes.
 */

#include "symbolize/pack/unpack.h"
#include "symbolize/pack/zcache.h"

#include "fuzzdir.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_MAX (96u << 10)        /* of the section */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_parts(struct unpack *u, uint8_t *all)
{
	size_t n_all = unpack_copy(u, 0, all, N_MAX);
	fuzzdir_check(n_all <= N_MAX);
	for (uint64_t off = N_MAX - 1; off < N_MAX; off -= 1 + N_MAX / 9) {
		size_t n = N_MAX - off < 777 ? (size_t)(N_MAX - off) : 777;
		const uint8_t *p = unpack_kept(u, off, &n);
		fuzzdir_check(n <= 777 && (n == 0 || memcmp(all + off, p, n) == 0));
	}
}

static struct bytes part(struct bytes *b, size_t n_bytes)
{
	const void *p = bytes_take(b, n_bytes);
	return bytes_of(p ? p : "", p ? n_bytes : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct zindex_point rest = { .in_off = bytes_u16(&b), .in_bit = bytes_u8(&b) };
	rest.off = 1 + (uint64_t)bytes_u16(&b) * 4 % N_MAX;
	struct bytes cached = part(&b, bytes_u16(&b));
	uint16_t n_over = bytes_u16(&b), at = bytes_u16(&b);
	struct bytes over = part(&b, n_over);
	size_t n_packed = bytes_left(&b);
	if (b.bad || !n_packed)
		return 0;
	fuzzdir_make("/dev/shm");
	int fd = memfd_create("packed", MFD_CLOEXEC);
	uint8_t *section = calloc(1, N_MAX), *all = malloc(N_MAX);
	fuzzdir_check(fd >= 0 && section && all && write(fd, b.p, n_packed) == (ssize_t)n_packed);
	size_t n_cached = bytes_left(&cached);
	for (size_t i = 0; n_cached && i < rest.off; i += n_cached)
		memcpy(section + i, cached.p,
		       rest.off - i < n_cached ? (size_t)rest.off - i : n_cached);
	struct zindex_key key = { .n_packed = n_packed, .n_bytes = N_MAX };
	struct unpack_from from = { .fd = fd, .n_bytes = n_packed, .cache_dir = fuzzdir };
	struct unpack *u;
	fuzzdir_check(zindex_key_set_file(&key, fd));
	zcache_save(fuzzdir, &key, section, &rest);
	fuzzdir_damage(over, at);
	if (unpack_open(UNPACK_ZLIB, &from, N_MAX, N_MAX, &u) == 0) {
		read_parts(u, all);
		unpack_close(u);
	}
	close(fd);
	free(section);
	free(all);
	fuzzdir_clean();
	return 0;
}
