/*
 * A compressed section can only be decompressed from its beginning.  So it is decompressed up to
 * the last byte that is requested.  One source line may need only a hundredth of a C library's
 * debug information; on average it needs half.
 *
 * The decompressed part of a section of moderate size stays in memory, and in the cache for the
 * next recording (zcache.h).  For a large one there is a sliding buffer, which suits requests in
 * the order of the section, and an index of access points (zindex.h) for requests in other orders,
 * which is cached, too.  zstd does not reveal its window, so going back in a large zstd section
 * starts at the beginning, and a smaller one is cached only if it was decompressed completely.
 *
 * The file is read piece by piece and never mapped, because it may be truncated meanwhile.
 */

#include "symbolize/pack/unpack.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolize/pack/unpack-zstd.h"
#include "symbolize/pack/zcache.h"
#include "symbolize/pack/zindex.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define INPUT_BYTES (64u << 10)
#define SLIDING_BYTES (1u << 20)  /* the buffer for a large section */
#define BEHIND_BYTES (192u << 10) /* that stay when it slides */
#define STEP_BYTES (32u << 10)    /* decompressed at least: zlib is slow near the end of a buffer */
#define CACHED_BYTES_MIN (64u << 10) /* decompressing less is faster than opening a cache file */

/* Deflate cannot do better than 1032 : 1; zstd is assumed to be the same. */
#define RATIO_MAX 1032u

struct unpack {
	enum unpack_kind kind;
	struct unpack_from from;
	uint64_t n_bytes;
	bool is_kept, has_failed;
	uint8_t *in;             /* INPUT_BYTES, unless `from` is in memory */
	const uint8_t *in_p, *in_end; /* input that is not yet consumed */
	uint64_t in_off;         /* of in_end, in `from` */
	uint8_t *out;
	size_t n_out, cap;
	uint64_t out_off;        /* of out[0], in the section */
	z_stream zlib;
	struct unpack_zstd *zstd;
	struct zindex *index;    /* of a large section in zlib's format, else NULL */
	struct zindex_key key;
	/* Of a section that stays in memory: */
	bool is_cacheable;
	struct zcache *cache;    /* its beginning; `out` has the requested blocks of it */
	bool is_past_cache;      /* more than the cache has was requested */
	struct zindex_point end; /* the last block boundary that was passed */
};

/* ---- input --------------------------------------------------------------- */

/* Reads more input when all is consumed.  False at the end and on error. */
static bool read_input(struct unpack *u)
{
	uint64_t n_left = u->from.n_bytes - u->in_off;
	if (u->from.memory || !n_left)
		return false;
	ssize_t n = pread(u->from.fd, u->in, n_left < INPUT_BYTES ? (size_t)n_left : INPUT_BYTES,
			  (off_t)(u->from.off + u->in_off));
	if (n <= 0)
		return false;
	u->in_p = u->in;
	u->in_end = u->in + n;
	u->in_off += (uint64_t)n;
	return true;
}

static bool start_input(struct unpack *u, uint64_t in_off)
{
	if (u->from.memory) {
		u->in_p = u->from.memory + in_off;
		u->in_end = u->from.memory + u->from.n_bytes;
		u->in_off = u->from.n_bytes;
		return in_off < u->from.n_bytes;
	}
	u->in_off = in_off;
	return read_input(u);
}

/* ---- where to start ------------------------------------------------------ */

static bool start_at_beginning(struct unpack *u)
{
	u->out_off = u->n_out = 0;
	if (u->kind == UNPACK_ZSTD) {
		unpack_zstd_restart(u->zstd);
		return start_input(u, 0);
	}
	/* RFC 1950: two bytes of header; a preset dictionary is not supported, and the checksum is
	 * not used */
	return inflateReset(&u->zlib) == Z_OK && u->from.n_bytes > 2 && start_input(u, 2);
}

/* The window is in `out` already. */
static bool start_at_point(struct unpack *u, const struct zindex_point *point)
{
	z_stream *z = &u->zlib;
	u->out_off = point->off - ZINDEX_WINDOW_BYTES;
	u->n_out = ZINDEX_WINDOW_BYTES;
	if (inflateReset(z) != Z_OK || !start_input(u, point->in_off))
		return false;
	unsigned bit = (unsigned)point->in_bit;
	if (bit && inflatePrime(z, (int)(8 - bit), *u->in_p++ >> bit) != Z_OK)
		return false;
	return inflateSetDictionary(z, u->out, ZINDEX_WINDOW_BYTES) == Z_OK;
}

/* The cache is damaged: decompresses from the beginning. */
static void drop_cache(struct unpack *u)
{
	zcache_close(u->cache);
	u->cache = NULL;
	u->has_failed = !start_at_beginning(u);
}

/* Continues after the cached bytes. */
static bool start_after_cache(struct unpack *u)
{
	z_stream *z = &u->zlib;
	const struct zindex_point rest = zcache_rest(u->cache);
	uint64_t n_window = rest.off < ZINDEX_WINDOW_BYTES ? rest.off : ZINDEX_WINDOW_BYTES;
	uint64_t first = rest.off - n_window;
	if (u->kind != UNPACK_ZLIB || !zcache_fill(u->cache, u->out, first, n_window) ||
	    inflateReset(z) != Z_OK || !start_input(u, rest.in_off))
		return false;
	unsigned bit = (unsigned)rest.in_bit;
	if (bit && inflatePrime(z, (int)(8 - bit), *u->in_p++ >> bit) != Z_OK)
		return false;
	return inflateSetDictionary(z, u->out + first, (uInt)n_window) == Z_OK;
}

/* Moves to the last access point at or before off if that is beyond `least`; else returns false. */
static bool jump(struct unpack *u, uint64_t off, uint64_t least)
{
	size_t n = u->index ? zindex_count_before(u->index, off) : 0;
	for (; n; n--) {
		struct zindex_point point = zindex_get(u->index, n - 1);
		if (point.off <= least)
			return false;
		if (zindex_window(u->index, n - 1, u->out)) {
			u->has_failed = !start_at_point(u, &point);
			return true;
		}
	}
	return false;
}

/* Notes the boundary between two blocks. */
static void note_block(struct unpack *u)
{
	uint64_t n_consumed = u->in_off - (uint64_t)(u->in_end - u->in_p);
	uint64_t bit = n_consumed * 8 - (u->zlib.data_type & 7);
	u->end = (struct zindex_point){ u->out_off + u->n_out, bit / 8, bit % 8 };
	if (u->index && u->n_out >= ZINDEX_WINDOW_BYTES)
		zindex_add(u->index, &u->end, u->out + u->n_out - ZINDEX_WINDOW_BYTES);
}

/* ---- output -------------------------------------------------------------- */

static bool run_zstd(struct unpack *u, size_t goal)
{
	while (u->n_out < goal) {
		bool has_input = u->in_p < u->in_end || read_input(u);
		long n = unpack_zstd_run(u->zstd, &u->in_p, u->in_end, u->out + u->n_out,
					 goal - u->n_out);
		if (n < 0 || (n == 0 && !has_input))
			return false;
		u->n_out += (size_t)n;
	}
	return true;
}

static bool run_zlib(struct unpack *u, size_t goal)
{
	z_stream *z = &u->zlib;
	int r = Z_OK;
	while (u->n_out < goal && (r == Z_OK || r == Z_BUF_ERROR)) {
		bool has_input = u->in_p < u->in_end || read_input(u);
		size_t n_in = (size_t)(u->in_end - u->in_p);
		z->next_in = (Bytef *)u->in_p;
		z->avail_in = n_in < UINT_MAX ? (uInt)n_in : UINT_MAX;
		z->next_out = u->out + u->n_out;
		z->avail_out = (uInt)(goal - u->n_out);
		r = inflate(z, Z_BLOCK);
		u->in_p = z->next_in;
		u->n_out = goal - z->avail_out;
		if (r == Z_BUF_ERROR && !has_input)
			return false;
		/* between two blocks (128), and not after the last one (64) */
		if (r == Z_OK && (z->data_type & 192) == 128)
			note_block(u);
	}
	return u->n_out >= goal;
}

/* Makes room at the end of the buffer. */
static void slide_buffer(struct unpack *u)
{
	size_t n = u->n_out - BEHIND_BYTES;
	memmove(u->out, u->out + n, BEHIND_BYTES);
	u->out_off += n;
	u->n_out = BEHIND_BYTES;
}

static bool is_late(const struct unpack *u)
{
	return u->from.deadline_ns && clock_monotonic_ns() >= u->from.deadline_ns;
}

static bool run_decoder(struct unpack *u, uint64_t end)
{
	uint64_t goal = end - u->out_off;
	if (u->is_kept && goal < u->n_out + STEP_BYTES)
		goal = u->n_out + STEP_BYTES;
	if (goal > u->cap)
		goal = u->cap;
	return u->kind == UNPACK_ZSTD ? run_zstd(u, (size_t)goal) : run_zlib(u, (size_t)goal);
}

/* Decompresses up to `end` of the section or to the end of the buffer.  False at the end or on
 * error. */
static bool advance(struct unpack *u, uint64_t end)
{
	u->has_failed |= is_late(u);
	if (u->cache && !u->is_past_cache && !u->has_failed) {
		u->is_past_cache = true;
		if (!start_after_cache(u))
			drop_cache(u);
	}
	if (u->has_failed)
		return false;
	if (!u->is_kept && u->n_out >= u->cap)
		slide_buffer(u);
	bool ok = run_decoder(u, end);
	if (!ok && u->cache) {
		drop_cache(u);
		ok = !u->has_failed && run_decoder(u, end);
	}
	u->has_failed |= !ok;
	return ok;
}

/* Makes sure that the buffer starts before off, and as close to it as access points allow. */
static bool seek(struct unpack *u, uint64_t off)
{
	bool is_back = off < u->out_off;
	if (!jump(u, off, is_back ? 0 : u->out_off + u->n_out) && is_back)
		u->has_failed = !start_at_beginning(u);
	return !is_back || !u->has_failed;
}

static size_t copy_sliding(struct unpack *u, uint64_t off, uint8_t *to, size_t n_bytes)
{
	size_t n_done = 0;
	if (!seek(u, off))
		return 0;
	while (n_done < n_bytes) {
		uint64_t at = off + n_done, there = u->out_off + u->n_out;
		if (at >= there) {
			/* bytes before the damage are good */
			if (!advance(u, off + n_bytes) && u->out_off + u->n_out == there)
				break;
			continue;
		}
		size_t n = there - at < n_bytes - n_done ? (size_t)(there - at) : n_bytes - n_done;
		memcpy(to + n_done, u->out + (at - u->out_off), n);
		n_done += n;
	}
	return n_done;
}

const uint8_t *unpack_kept(struct unpack *u, uint64_t off, size_t *io_n_bytes)
{
	if (!u->is_kept)
		return NULL;
	if (off + *io_n_bytes > u->n_out)
		advance(u, off + *io_n_bytes);
	if (u->cache && !zcache_fill(u->cache, u->out, off, *io_n_bytes)) {
		drop_cache(u);
		advance(u, off + *io_n_bytes);
	}
	size_t there = off < u->n_out ? u->n_out - off : 0;
	if (*io_n_bytes > there)
		*io_n_bytes = there;
	return u->out + off;
}

size_t unpack_copy(struct unpack *u, uint64_t off, void *to, size_t n_bytes)
{
	if (!u->is_kept)
		return copy_sliding(u, off, to, n_bytes);
	const uint8_t *p = unpack_kept(u, off, &n_bytes);
	memcpy(to, p, n_bytes);
	return n_bytes;
}

/* ---- opening and closing ------------------------------------------------- */

static int open_decoder(struct unpack *u)
{
	if (u->kind == UNPACK_ZSTD)
		return unpack_zstd_new(&u->zstd);
	if (inflateInit2(&u->zlib, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	return 0;
}

static int open_caches(struct unpack *u)
{
	const char *dir = u->from.cache_dir;
	u->key = (struct zindex_key){ .off = u->from.off, .n_packed = u->from.n_bytes,
				      .n_bytes = u->n_bytes };
	bool is_cacheable = dir && !u->from.memory && zindex_key_set_file(&u->key, u->from.fd);
	if (!u->is_kept)
		return u->kind == UNPACK_ZSTD
			       ? 0
			       : zindex_open(is_cacheable ? dir : NULL, &u->key, &u->index);
	u->is_cacheable = is_cacheable;
	if (is_cacheable && zcache_open(dir, &u->key, &u->cache) == 0)
		u->n_out = (size_t)zcache_rest(u->cache).off;
	return 0;
}

int unpack_open(enum unpack_kind kind, const struct unpack_from *from, uint64_t n_bytes,
		uint64_t keep_bytes, struct unpack **ret_unpack)
{
	if ((kind != UNPACK_ZLIB && kind != UNPACK_ZSTD) || !n_bytes ||
	    n_bytes / RATIO_MAX > from->n_bytes)
		return -EINVAL;
	struct unpack *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->kind = kind;
	u->from = *from;
	u->n_bytes = n_bytes;
	u->is_kept = n_bytes <= keep_bytes;
	u->cap = u->is_kept ? (size_t)n_bytes : SLIDING_BYTES;
	u->out = malloc(u->cap);
	u->in = malloc(INPUT_BYTES);
	int r = u->out && u->in ? open_decoder(u) : -ENOMEM;
	if (!r)
		r = open_caches(u);
	if (r) {
		unpack_close(u);
		return r;
	}
	if (!u->cache)
		u->has_failed = !start_at_beginning(u);
	*ret_unpack = u;
	return 0;
}

/* Saves what was decompressed in addition to the cached bytes, up to the next block boundary.  If
 * the cached bytes were not enough, they would probably not be enough the next time: saves all. */
static void save_to_cache(struct unpack *u)
{
	uint64_t n_before = u->cache ? zcache_rest(u->cache).off : 0, n_used = u->n_out;
	if (!u->is_cacheable || u->has_failed || n_used <= n_before || n_used < CACHED_BYTES_MIN)
		return;
	if (u->kind == UNPACK_ZSTD && n_used < u->n_bytes)
		return;
	while (u->n_out < u->n_bytes && (u->is_past_cache || u->end.off < n_used))
		if (!advance(u, u->n_out + 1))
			return;
	const struct zindex_point all = { .off = u->n_bytes, .in_off = u->from.n_bytes };
	if (!u->cache || zcache_fill(u->cache, u->out, 0, n_before))
		zcache_save(u->from.cache_dir, &u->key, u->out,
			    u->n_out == u->n_bytes ? &all : &u->end);
}

void unpack_close(struct unpack *u)
{
	if (!u)
		return;
	if (u->out)
		save_to_cache(u);
	zcache_close(u->cache);
	zindex_close(u->index);
	inflateEnd(&u->zlib);
	unpack_zstd_free(u->zstd);
	free(u->out);
	free(u->in);
	free(u);
}
