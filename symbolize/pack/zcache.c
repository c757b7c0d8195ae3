/*
 * The file has a header, a checksum for each block, and the blocks.  Only requested blocks are
 * read, and each is compared with its checksum then, because a power failure can leave a file full
 * of zeros.  Checksums do not help against forged files, but the file must belong to us, and
 * readers of debug information check everything that they read.
 *
 * The names that were found are not cached: the next recording has other addresses, and a single
 * new address would cost as much as all of them.
 */

#include "symbolize/pack/zcache.h"

#include "base/cleanup.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define VERSION 3u
#define NAME_BYTES 80
#define BLOCK_BYTES 16384u       /* a few units */

static const char magic[8] = "cprofunp";

struct header {
	char magic[8];
	uint32_t version, block_bytes;
	struct zindex_key key;
	struct zindex_point rest;
	uint32_t sums_sum;           /* of the checksums after the header */
	uint32_t sum;                /* of the header; must be last */
};

struct zcache {
	int fd;
	uint64_t n_blocks;
	struct zindex_point rest;
	uint32_t *sum;               /* per block */
	uint8_t *is_filled;          /* per block */
};

static uint32_t checksum(const void *p, size_t n)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), p, (uInt)n);
}

static uint32_t header_sum(const struct header *h)
{
	return checksum(h, offsetof(struct header, sum));
}

static uint64_t block_count(uint64_t n_bytes)
{
	return n_bytes / BLOCK_BYTES + (n_bytes % BLOCK_BYTES != 0);
}

static size_t block_bytes(uint64_t n_bytes, uint64_t block)
{
	uint64_t n_left = n_bytes - block * BLOCK_BYTES;
	return n_left < BLOCK_BYTES ? (size_t)n_left : BLOCK_BYTES;
}

/* Two keys hardly ever have the same file name, and the header has the whole key. */
static void make_name(const struct zindex_key *key, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, ZINDEX_PREFIX "%llx-%llx-%llx-%08x",
		 (unsigned long long)key->dev, (unsigned long long)key->inode,
		 (unsigned long long)key->off, checksum(key, sizeof(*key)));
}

/* ---- reading ------------------------------------------------------------- */

static bool read_at(int fd, void *to, size_t n_bytes, uint64_t off)
{
	size_t n_done = 0;
	while (n_done < n_bytes) {
		ssize_t n = pread(fd, (char *)to + n_done, n_bytes - n_done,
				  (off_t)(off + n_done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		n_done += (size_t)n;
	}
	return true;
}

/* Is the header consistent with itself, with the key and with the size of the file? */
static bool is_valid(const struct header *h, const struct zindex_key *key, uint64_t n_file_bytes)
{
	uint64_t n = h->rest.off;
	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->version == VERSION &&
	       h->block_bytes == BLOCK_BYTES && h->sum == header_sum(h) &&
	       memcmp(&h->key, key, sizeof(*key)) == 0 && n > 0 && n <= key->n_bytes &&
	       n <= n_file_bytes && h->rest.in_off <= key->n_packed && h->rest.in_bit < 8 &&
	       sizeof(*h) + block_count(n) * sizeof(uint32_t) + n == n_file_bytes;
}

int zcache_open(const char *dir, const struct zindex_key *key, struct zcache **ret)
{
	char name[NAME_BYTES];
	uint64_t n_file_bytes;
	struct header h;
	make_name(key, name);
	int fd = cachefile_open(dir, name, &n_file_bytes);
	if (fd < 0)
		return fd;
	struct zcache *c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->fd = fd;
	if (!read_at(fd, &h, sizeof(h), 0) || !is_valid(&h, key, n_file_bytes)) {
		zcache_close(c);
		return -EINVAL;
	}
	c->rest = h.rest;
	c->n_blocks = block_count(h.rest.off);
	size_t n_sum_bytes = c->n_blocks * sizeof(*c->sum);
	c->sum = malloc(n_sum_bytes);
	c->is_filled = calloc(c->n_blocks, 1);
	if (!c->sum || !c->is_filled || !read_at(fd, c->sum, n_sum_bytes, sizeof(h)) ||
	    checksum(c->sum, n_sum_bytes) != h.sums_sum) {
		zcache_close(c);
		return -EINVAL;
	}
	cachefile_touch(fd);
	*ret = c;
	return 0;
}

void zcache_close(struct zcache *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->sum);
	free(c->is_filled);
	free(c);
}

struct zindex_point zcache_rest(const struct zcache *c)
{
	return c->rest;
}

static bool fill_block(struct zcache *c, uint8_t *section, uint64_t block)
{
	uint8_t *to = section + block * BLOCK_BYTES;
	size_t n = block_bytes(c->rest.off, block);
	uint64_t first = sizeof(struct header) + c->n_blocks * sizeof(*c->sum);
	c->is_filled[block] = read_at(c->fd, to, n, first + block * BLOCK_BYTES) &&
			      checksum(to, n) == c->sum[block];
	return c->is_filled[block];
}

bool zcache_fill(struct zcache *c, uint8_t *section, uint64_t off, uint64_t n_bytes)
{
	uint64_t n_cached = c->rest.off;
	if (off >= n_cached || !n_bytes)
		return true;
	uint64_t last = n_bytes < n_cached - off ? off + n_bytes - 1 : n_cached - 1;
	for (uint64_t i = off / BLOCK_BYTES; i <= last / BLOCK_BYTES; i++)
		if (!c->is_filled[i] && !fill_block(c, section, i))
			return false;
	return true;
}

/* ---- writing ------------------------------------------------------------- */

void zcache_save(const char *dir, const struct zindex_key *key, const uint8_t *section,
		 const struct zindex_point *rest)
{
	char name[NAME_BYTES];
	uint64_t n_bytes = rest->off, n_blocks = block_count(n_bytes);
	CLEANUP_FREE uint32_t *sum = malloc(n_blocks * sizeof(*sum));
	CLEANUP_CLOSE int dir_fd = cachefile_open_dir(dir);
	if (!sum || dir_fd < 0)
		return;
	for (uint64_t i = 0; i < n_blocks; i++)
		sum[i] = checksum(section + i * BLOCK_BYTES, block_bytes(n_bytes, i));
	struct header h = {
		.version = VERSION, .block_bytes = BLOCK_BYTES, .key = *key, .rest = *rest,
		.sums_sum = checksum(sum, n_blocks * sizeof(*sum)),
	};
	memcpy(h.magic, magic, sizeof(magic));
	h.sum = header_sum(&h);
	const struct cachefile_part part[] = {
		{ &h, sizeof(h) }, { sum, n_blocks * sizeof(*sum) }, { section, n_bytes },
	};
	uint64_t others = n_bytes < ZINDEX_CACHE_BYTES_MAX ? ZINDEX_CACHE_BYTES_MAX - n_bytes : 0;
	make_name(key, name);
	if (cachefile_write(dir_fd, name, part, sizeof(part) / sizeof(*part)) == 0)
		cachefile_limit(dir_fd, ZINDEX_PREFIX, name, others);
}
