/*
 * The file has a header, then records of equal size, each with its own checksum.  Records are
 * appended while decompression goes on, so other processes can use them at once, and they are kept
 * if this process is killed.  The writer holds a lock on the file.  Windows are read only when
 * needed.
 *
 * A truncated record (disk full) is overwritten by the next writer.  A file with another header is
 * removed and replaced.
 *
 * Points that cannot go to the cache go to a memfd of the same format.
 */

#include "symbolize/pack/zindex.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define VERSION 2u
#define NAME_BYTES 80

#define POINTS_MAX 1024u               /* of one section: 32 MB */
#define SPACING_CACHED (256u << 10)    /* at least, from one point to the next */
#define SPACING_UNCACHED (2u << 20)    /* fewer, since they take up memory */

static const char magic[8] = "cprofmrk";

struct header {
	char magic[8];
	uint32_t version, record_bytes;
	struct zindex_key key;
	uint64_t sum;                /* of the header */
};

struct record {
	struct zindex_point point;
	uint64_t sum;                /* of point and window */
	uint8_t window[ZINDEX_WINDOW_BYTES];
};

struct entry {
	struct zindex_point point;
	uint64_t off;                /* of the record */
	bool is_cached;              /* in the cache file, not in the memfd */
};

struct zindex {
	struct zindex_key key;
	char name[NAME_BYTES];
	int dir_fd, cache_fd, memory_fd; /* -1: none */
	bool is_writer;                  /* of the cache file */
	uint64_t n_cached, n_in_memory;  /* records, including unusable ones */
	uint64_t spacing;
	struct record record;            /* buffer */
	VEC(struct entry) entries;
};

static uint64_t header_sum(const struct header *h)
{
	return crc32(crc32(0, NULL, 0), (const void *)h, offsetof(struct header, sum));
}

static uint64_t record_sum(const struct record *r)
{
	uLong sum = crc32(crc32(0, NULL, 0), (const void *)r, offsetof(struct record, sum));
	return crc32(sum, r->window, sizeof(r->window));
}

static uint64_t cached_off(uint64_t i)
{
	return sizeof(struct header) + i * sizeof(struct record);
}

static struct header make_header(const struct zindex_key *key)
{
	struct header h = { .version = VERSION, .record_bytes = sizeof(struct record),
			    .key = *key };
	memcpy(h.magic, magic, sizeof(magic));
	h.sum = header_sum(&h);
	return h;
}

static uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

bool zindex_key_set_file(struct zindex_key *key, int fd)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	key->dev = st.st_dev;
	key->inode = st.st_ino;
	key->n_file_bytes = (uint64_t)st.st_size;
	key->modified_ns = timespec_ns(&st.st_mtim);
	key->changed_ns = timespec_ns(&st.st_ctim);
	return true;
}

/* Two keys hardly ever have the same file name, and the header has the whole key. */
static void set_name(struct zindex *ix)
{
	const struct zindex_key *key = &ix->key;
	snprintf(ix->name, sizeof(ix->name), ZINDEX_PREFIX "m-%llx-%llx-%llx-%08lx",
		 (unsigned long long)key->dev, (unsigned long long)key->inode,
		 (unsigned long long)key->off, crc32(0, (const void *)key, sizeof(*key)));
}

/* ---- opening --------------------------------------------------------------- */

static uint64_t last_off(const struct zindex *ix)
{
	return ix->entries.n ? ix->entries.v[ix->entries.n - 1].point.off : 0;
}

static bool is_valid_next(const struct zindex *ix, const struct zindex_point *p)
{
	return p->off > last_off(ix) && p->off >= ZINDEX_WINDOW_BYTES &&
	       p->off < ix->key.n_bytes && p->in_off < ix->key.n_packed && p->in_bit < 8;
}

static bool read_entries(struct zindex *ix)
{
	for (uint64_t i = 0; i < ix->n_cached && i < POINTS_MAX; i++) {
		struct entry e = { .off = cached_off(i), .is_cached = true };
		if (pread(ix->cache_fd, &e.point, sizeof(e.point), (off_t)e.off) !=
		    sizeof(e.point))
			return true;
		if (is_valid_next(ix, &e.point) && !VEC_PUSH(&ix->entries, e))
			return false;
	}
	return true;
}

static bool has_right_header(const struct zindex *ix, uint64_t n_bytes)
{
	struct header h, want = make_header(&ix->key);
	return n_bytes >= sizeof(h) && pread(ix->cache_fd, &h, sizeof(h), 0) == sizeof(h) &&
	       memcmp(&h, &want, sizeof(h)) == 0;
}

static void close_cache(struct zindex *ix)
{
	if (ix->cache_fd >= 0)
		close(ix->cache_fd);
	ix->cache_fd = -1;
	ix->is_writer = false;
}

/* Opens the file, and writes its header if it is empty.  False if the file must be replaced. */
static bool open_cache(struct zindex *ix)
{
	uint64_t n_bytes;
	ix->cache_fd = cachefile_open_rw(ix->dir_fd, ix->name, &n_bytes);
	if (ix->cache_fd < 0)
		return true;
	ix->is_writer = flock(ix->cache_fd, LOCK_EX | LOCK_NB) == 0;
	if (has_right_header(ix, n_bytes)) {
		ix->n_cached = (n_bytes - sizeof(struct header)) / sizeof(struct record);
		return true;
	}
	struct header h = make_header(&ix->key);
	if (!n_bytes && ix->is_writer && pwrite(ix->cache_fd, &h, sizeof(h), 0) == sizeof(h))
		return true;
	/* another process is about to write the header */
	bool is_new = !n_bytes && !ix->is_writer;
	close_cache(ix);
	return is_new;
}

int zindex_open(const char *dir, const struct zindex_key *key, struct zindex **ret)
{
	struct zindex *ix = calloc(1, sizeof(*ix));
	if (!ix)
		return -ENOMEM;
	ix->key = *key;
	ix->cache_fd = ix->memory_fd = -1;
	ix->dir_fd = dir ? cachefile_open_dir(dir) : -1;
	set_name(ix);
	if (ix->dir_fd >= 0 && !open_cache(ix) && unlinkat(ix->dir_fd, ix->name, 0) == 0)
		open_cache(ix);
	uint64_t least = ix->is_writer ? SPACING_CACHED : SPACING_UNCACHED;
	ix->spacing = key->n_bytes / POINTS_MAX > least ? key->n_bytes / POINTS_MAX : least;
	if (ix->cache_fd >= 0) {
		cachefile_touch(ix->cache_fd);
		if (!read_entries(ix)) {
			zindex_close(ix);
			return -ENOMEM;
		}
	}
	*ret = ix;
	return 0;
}

void zindex_close(struct zindex *ix)
{
	if (!ix)
		return;
	uint64_t n_bytes = cached_off(ix->n_cached);
	uint64_t others = n_bytes < ZINDEX_CACHE_BYTES_MAX ? ZINDEX_CACHE_BYTES_MAX - n_bytes : 0;
	if (ix->is_writer)
		cachefile_limit(ix->dir_fd, ZINDEX_PREFIX, ix->name, others);
	close_cache(ix);
	if (ix->memory_fd >= 0)
		close(ix->memory_fd);
	if (ix->dir_fd >= 0)
		close(ix->dir_fd);
	VEC_FREE(&ix->entries);
	free(ix);
}

/* ---- reading --------------------------------------------------------------- */

size_t zindex_count_before(const struct zindex *ix, uint64_t off)
{
	return SEARCH_COUNT(ix->entries.n, i, ix->entries.v[i].point.off <= off);
}

struct zindex_point zindex_get(const struct zindex *ix, size_t i)
{
	return ix->entries.v[i].point;
}

bool zindex_window(struct zindex *ix, size_t i, uint8_t *to)
{
	const struct entry *e = &ix->entries.v[i];
	struct record *r = &ix->record;
	int fd = e->is_cached ? ix->cache_fd : ix->memory_fd;
	if (pread(fd, r, sizeof(*r), (off_t)e->off) == sizeof(*r) &&
	    memcmp(&r->point, &e->point, sizeof(r->point)) == 0 && r->sum == record_sum(r)) {
		memcpy(to, r->window, sizeof(r->window));
		return true;
	}
	ix->entries.n--;
	memmove(&ix->entries.v[i], &ix->entries.v[i + 1], (ix->entries.n - i) * sizeof(*e));
	return false;
}

/* ---- writing --------------------------------------------------------------- */

static bool write_record(int fd, const struct record *r, uint64_t off)
{
	return pwrite(fd, r, sizeof(*r), (off_t)off) == sizeof(*r);
}

static bool write_cached(struct zindex *ix, struct entry *e)
{
	if (!ix->is_writer || ix->n_cached >= POINTS_MAX)
		return false;
	e->off = cached_off(ix->n_cached);
	e->is_cached = true;
	ix->is_writer = write_record(ix->cache_fd, &ix->record, e->off);
	if (!ix->is_writer)
		return false;
	ix->n_cached++;
	return true;
}

static bool write_in_memory(struct zindex *ix, struct entry *e)
{
	if (ix->memory_fd < 0)
		ix->memory_fd = memfd_create("cprof-zindex", MFD_CLOEXEC);
	e->off = ix->n_in_memory * sizeof(struct record);
	e->is_cached = false;
	if (ix->memory_fd < 0 || !write_record(ix->memory_fd, &ix->record, e->off))
		return false;
	ix->n_in_memory++;
	return true;
}

void zindex_add(struct zindex *ix, const struct zindex_point *point, const uint8_t *window)
{
	struct record *r = &ix->record;
	struct entry e = { .point = *point };
	if (ix->entries.n >= POINTS_MAX || point->off < last_off(ix) + ix->spacing ||
	    !is_valid_next(ix, point) || !VEC_RESERVE(&ix->entries, 1))
		return;
	r->point = *point;
	memcpy(r->window, window, sizeof(r->window));
	r->sum = record_sum(r);
	if (write_cached(ix, &e) || write_in_memory(ix, &e))
		ix->entries.v[ix->entries.n++] = e;
}
