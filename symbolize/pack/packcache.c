#include "symbolize/pack/packcache.h"

#include "base/cleanup.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/*
 * The file: a header, a checksum of each block, the blocks.  Only those blocks are read that
 * somebody asks for, and each is compared with its checksum then: a power failure can leave a file
 * full of zeros.  Against a forged one checksums are no help; but it must belong to us, and
 * whoever reads debug information expects every kind of nonsense in it anyway.
 *
 * What is cached is not the names that were found, since the next recording has other addresses,
 * of which a single new one would cost as much as all.
 */

#define PREFIX "unpacked-"
#define VERSION 1u
#define BLOCK_BYTES 16384u       /* a few units */
#define ALL_BYTES_MAX (256ull << 20)

static const char magic[8] = "cprofunp";

struct header {
	char magic[8];
	uint32_t version, block_bytes;
	struct packcache_key key;
	uint64_t n_bytes;            /* that are there */
	struct packcache_place rest;
	uint32_t sums_sum;           /* of the checksums that follow */
	uint32_t sum;                /* of all this; must be last */
};

struct packcache {
	int fd;
	uint64_t n_bytes, n_blocks;
	struct packcache_place rest;
	uint32_t *sum;               /* of each block */
	uint8_t *is_there;           /* each block, in its place */
};

static uint32_t checksum(const void *p, size_t n)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), p, (uInt)n);
}

static uint32_t header_sum(const struct header *h)
{
	return checksum(h, offsetof(struct header, sum));
}

static uint64_t n_blocks_of(uint64_t n_bytes)
{
	return n_bytes / BLOCK_BYTES + (n_bytes % BLOCK_BYTES != 0);
}

static uint64_t ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

bool packcache_set_file(struct packcache_key *key, int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	key->dev = st.st_dev;
	key->inode = st.st_ino;
	key->n_file_bytes = (uint64_t)st.st_size;
	key->modified_ns = ns(&st.st_mtim);
	key->changed_ns = ns(&st.st_ctim);
	return true;
}

/* One name for each key, and hardly ever the same for two; what counts is the header. */
void packcache_name(const struct packcache_key *key, char what, char name[PACKCACHE_NAME_BYTES])
{
	const char kind[3] = { what, what ? '-' : 0, 0 };
	snprintf(name, PACKCACHE_NAME_BYTES, PREFIX "%s%llx-%llx-%llx-%08x", kind,
		 (unsigned long long)key->dev, (unsigned long long)key->inode,
		 (unsigned long long)key->off, checksum(key, sizeof(*key)));
}

void packcache_limit(int dir_fd, const char *name, uint64_t n_bytes)
{
	cachefile_limit(dir_fd, PREFIX, name,
			n_bytes < ALL_BYTES_MAX ? ALL_BYTES_MAX - n_bytes : 0);
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

/* Does the header agree with itself, the key and the file's size? */
static bool fits(const struct header *h, const struct packcache_key *key, uint64_t n_file_bytes)
{
	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->version == VERSION &&
	       h->block_bytes == BLOCK_BYTES && h->sum == header_sum(h) &&
	       memcmp(&h->key, key, sizeof(*key)) == 0 && h->n_bytes > 0 &&
	       h->n_bytes <= key->n_bytes && h->n_bytes <= n_file_bytes &&
	       sizeof(*h) + n_blocks_of(h->n_bytes) * sizeof(uint32_t) + h->n_bytes ==
		       n_file_bytes &&
	       h->rest.in_off <= key->n_packed && h->rest.in_bit < 8;
}

int packcache_open(const char *dir, const struct packcache_key *key, struct packcache **ret)
{
	char name[PACKCACHE_NAME_BYTES];
	uint64_t n_file_bytes;
	struct header h;
	packcache_name(key, 0, name);
	int fd = cachefile_open(dir, name, &n_file_bytes);
	if (fd < 0)
		return fd;
	struct packcache *c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->fd = fd;
	if (!read_at(fd, &h, sizeof(h), 0) || !fits(&h, key, n_file_bytes)) {
		packcache_close(c);
		return -EINVAL;
	}
	c->n_bytes = h.n_bytes;
	c->n_blocks = n_blocks_of(h.n_bytes);
	c->rest = h.rest;
	size_t n_sum_bytes = c->n_blocks * sizeof(*c->sum);
	c->sum = malloc(n_sum_bytes);
	c->is_there = calloc(c->n_blocks, 1);
	if (!c->sum || !c->is_there || !read_at(fd, c->sum, n_sum_bytes, sizeof(h)) ||
	    checksum(c->sum, n_sum_bytes) != h.sums_sum) {
		packcache_close(c);
		return -EINVAL;
	}
	cachefile_touch(fd);
	*ret = c;
	return 0;
}

void packcache_close(struct packcache *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->sum);
	free(c->is_there);
	free(c);
}

uint64_t packcache_bytes(const struct packcache *c)
{
	return c->n_bytes;
}

struct packcache_place packcache_rest(const struct packcache *c)
{
	return c->rest;
}

static bool fill_block(struct packcache *c, uint8_t *section, uint64_t block)
{
	uint64_t off = block * BLOCK_BYTES, n_left = c->n_bytes - off;
	size_t n = n_left < BLOCK_BYTES ? (size_t)n_left : BLOCK_BYTES;
	uint64_t head = sizeof(struct header) + c->n_blocks * sizeof(*c->sum);
	c->is_there[block] = read_at(c->fd, section + off, n, head + off) &&
			     checksum(section + off, n) == c->sum[block];
	return c->is_there[block];
}

bool packcache_fill(struct packcache *c, uint8_t *section, uint64_t off, size_t n_bytes)
{
	if (off >= c->n_bytes || !n_bytes)
		return true;
	uint64_t last = n_bytes < c->n_bytes - off ? off + n_bytes - 1 : c->n_bytes - 1;
	for (uint64_t i = off / BLOCK_BYTES; i <= last / BLOCK_BYTES; i++)
		if (!c->is_there[i] && !fill_block(c, section, i))
			return false;
	return true;
}

/* ---- writing ------------------------------------------------------------- */

void packcache_save(const char *dir, const struct packcache_key *key, const uint8_t *section,
		    uint64_t n_bytes, struct packcache_place rest)
{
	char name[PACKCACHE_NAME_BYTES];
	uint64_t n_blocks = n_blocks_of(n_bytes);
	CLEANUP_FREE uint32_t *sum = malloc(n_blocks * sizeof(*sum));
	CLEANUP_CLOSE int dir_fd = cachefile_open_dir(dir);
	if (!sum || dir_fd < 0)
		return;
	for (uint64_t i = 0; i < n_blocks; i++) {
		uint64_t n_left = n_bytes - i * BLOCK_BYTES;
		sum[i] = checksum(section + i * BLOCK_BYTES,
				  n_left < BLOCK_BYTES ? (size_t)n_left : BLOCK_BYTES);
	}
	struct header h = {
		.version = VERSION, .block_bytes = BLOCK_BYTES, .key = *key, .n_bytes = n_bytes,
		.rest = rest, .sums_sum = checksum(sum, n_blocks * sizeof(*sum)),
	};
	memcpy(h.magic, magic, sizeof(magic));
	h.sum = header_sum(&h);
	const struct cachefile_part part[] = {
		{ &h, sizeof(h) }, { sum, n_blocks * sizeof(*sum) }, { section, n_bytes },
	};
	packcache_name(key, 0, name);
	if (cachefile_write(dir_fd, name, part, sizeof(part) / sizeof(*part)) == 0)
		packcache_limit(dir_fd, name, n_bytes);
}
