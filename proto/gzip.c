/*
 * What fits into memory is compressed and decompressed whole, if libdeflate is there
 * (gzip-whole.h).  zlib does the rest: larger profiles, several members, and files with any fault,
 * so that limits and messages do not depend on the build.
 *
 * zlib counts in unsigned int, so longer input is passed in pieces.  windowBits 15 + 16 requests a
 * gzip header and trailer.
 */

#include "proto/gzip.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "proto/gzip-whole.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUT_BYTES (64u * 1024)
#define PIECE_BYTES (1u << 30)
#define FAST_BYTES 300u
#define EXPECTED_TIMES 16u
#define GZIP_WINDOW (15 + 16)
#define MEM_LEVEL 8

static int stream_open(struct gzip *g)
{
	uint8_t *out = malloc(OUT_BYTES);
	if (!out)
		return -ENOMEM;
	g->z = (z_stream){ 0 };
	if (deflateInit2(&g->z, g->level, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(out);
		return -ENOMEM;
	}
	g->z.next_out = g->out = out;
	g->z.avail_out = OUT_BYTES;
	return 0;
}

int gzip_open(struct gzip *g, int (*write)(void *ctx, const void *data, size_t n_bytes),
	      void *ctx, int level)
{
	assert(level >= 0 && level <= 9);
	*g = (struct gzip){ .write = write, .ctx = ctx, .level = level };
	return gzip_whole_bytes_max() > 0 ? 0 : stream_open(g);
}

static int hand_on(struct gzip *g)
{
	size_t n = OUT_BYTES - g->z.avail_out;
	g->z.next_out = g->out;
	g->z.avail_out = OUT_BYTES;
	return n > 0 ? g->write(g->ctx, g->out, n) : 0;
}

static int run(struct gzip *g, int flush)
{
	for (;;) {
		int status = deflate(&g->z, flush);
		assert(status != Z_STREAM_ERROR);
		bool done = flush == Z_FINISH ? status == Z_STREAM_END : g->z.avail_in == 0;
		if (done)
			return 0;
		int r = hand_on(g);
		if (r < 0)
			return r;
	}
}

static int stream_write(struct gzip *g, const void *data, size_t n_bytes)
{
	const uint8_t *p = data;
	while (n_bytes > 0) {
		size_t piece = n_bytes < PIECE_BYTES ? n_bytes : PIECE_BYTES;
		g->z.next_in = (Bytef *)p;
		g->z.avail_in = (uInt)piece;
		int r = run(g, Z_NO_FLUSH);
		if (r < 0)
			return r;
		p += piece;
		n_bytes -= piece;
	}
	return 0;
}

/* Begins with zlib after all: there is too much to hold. */
static int stream_late(struct gzip *g)
{
	int r = stream_open(g);
	if (r == 0)
		r = stream_write(g, g->whole.v, g->whole.n);
	VEC_FREE(&g->whole);
	return r;
}

int gzip_write(struct gzip *g, const void *data, size_t n_bytes)
{
	if (!g->out && n_bytes <= gzip_whole_bytes_max() - g->whole.n &&
	    VEC_RESERVE(&g->whole, n_bytes)) {
		if (n_bytes > 0)
			memcpy(g->whole.v + g->whole.n, data, n_bytes);
		g->whole.n += n_bytes;
		return 0;
	}
	int r = g->out ? 0 : stream_late(g);
	return r < 0 ? r : stream_write(g, data, n_bytes);
}

int gzip_finish(struct gzip *g)
{
	if (!g->out) {
		size_t n = 0;
		CLEANUP_FREE uint8_t *member =
			gzip_whole_deflate(g->whole.v, g->whole.n, g->level, &n);
		if (member)
			return g->write(g->ctx, member, n);
		int r = stream_late(g);
		if (r < 0)
			return r;
	}
	g->z.next_in = NULL;
	g->z.avail_in = 0;
	int r = run(g, Z_FINISH);
	return r < 0 ? r : hand_on(g);
}

void gzip_close(struct gzip *g)
{
	if (g->out)
		deflateEnd(&g->z);
	free(g->out);
	VEC_FREE(&g->whole);
	*g = (struct gzip){ 0 };
}

bool gzip_is(const void *data, size_t n_bytes)
{
	const uint8_t *p = data;
	return n_bytes >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Not a VEC: its size must not exceed the limit, which may be all that memory allows. */
struct inflated {
	uint8_t *p;
	size_t n, cap, first;      /* first: the capacity to begin with */
};

/* What most files need: the size that they end with, and what keeps inflate(3) in its fast loop. */
static size_t first_bytes(const uint8_t *data, size_t n_bytes)
{
	uint32_t n = 0;
	for (unsigned int i = 1; i <= sizeof(n) && i <= n_bytes; i++)
		n = n << 8 | data[n_bytes - i];
	return n > OUT_BYTES && n / EXPECTED_TIMES < n_bytes ? n + FAST_BYTES : OUT_BYTES;
}

/* Makes room for more output, up to one byte beyond the limit, which means "too large". */
static int make_room(struct inflated *out, size_t max_bytes, struct err *e)
{
	if (out->n > max_bytes)
		return err_set(e, E2BIG, "more than %zu bytes when uncompressed", max_bytes);
	if (out->n < out->cap)
		return 0;
	size_t want = out->cap ? out->cap * 2 : out->first;
	if (want > max_bytes)
		want = max_bytes + 1;
	uint8_t *p = realloc(out->p, want);
	if (!p)
		return err_errno(e, ENOMEM, "cannot uncompress");
	out->p = p;
	out->cap = want;
	return 0;
}

static int inflate_all(z_stream *z, const uint8_t *data, size_t n_bytes, size_t max_bytes,
		       struct inflated *out, struct err *e)
{
	const uint8_t *end = data + n_bytes;
	z->next_in = (Bytef *)data;
	for (;;) {
		int r = make_room(out, max_bytes, e);
		if (r < 0)
			return r;
		size_t left = (size_t)(end - z->next_in), room = out->cap - out->n;
		z->avail_in = (uInt)(left < PIECE_BYTES ? left : PIECE_BYTES);
		z->next_out = out->p + out->n;
		z->avail_out = (uInt)(room < PIECE_BYTES ? room : PIECE_BYTES);
		/* If all fits, zlib needs no window of its own. */
		int status = inflate(z, z->avail_in == left ? Z_FINISH : Z_NO_FLUSH);
		out->n = (size_t)(z->next_out - out->p);
		if (status == Z_BUF_ERROR && z->avail_out == 0)
			continue;
		switch (status) {
		case Z_STREAM_END:
			if (out->n > max_bytes)
				return make_room(out, max_bytes, e);
			if (z->next_in == end)
				return 0;
			inflateReset(z);
			break;
		case Z_OK:
			break;
		case Z_BUF_ERROR:
			return err_set(e, EINVAL, "the gzip data is truncated");
		case Z_MEM_ERROR:
			return err_errno(e, ENOMEM, "cannot uncompress");
		default:
			return err_set(e, EINVAL, "damaged gzip data at byte %zu%s%s",
				       (size_t)(z->next_in - data), z->msg ? ": " : "",
				       z->msg ? z->msg : "");
		}
	}
}

size_t gzip_plausible_bytes(size_t n_bytes)
{
	const size_t least = (size_t)256 << 20;
	if (n_bytes > GZIP_BYTES_MAX / GZIP_BLOWN_UP_TIMES)
		return GZIP_BYTES_MAX;
	n_bytes *= GZIP_BLOWN_UP_TIMES;
	return n_bytes > least ? n_bytes : least;
}

/* By libdeflate, into as much memory as zlib would begin with. */
static bool inflate_whole(const void *data, size_t n_bytes, size_t max_bytes, uint8_t **ret_data,
			  size_t *ret_n)
{
	size_t cap = first_bytes(data, n_bytes);
	if (cap > max_bytes)
		cap = max_bytes;
	CLEANUP_FREE uint8_t *out = gzip_whole_bytes_max() > 0 && cap > 0 ? malloc(cap) : NULL;
	if (!out || !gzip_whole_inflate(data, n_bytes, out, cap, ret_n))
		return false;
	*ret_data = TAKE_PTR(out);
	return true;
}

int gzip_inflate(const void *data, size_t n_bytes, size_t max_bytes, uint8_t **ret_data,
		 size_t *ret_n, struct err *e)
{
	if (inflate_whole(data, n_bytes, max_bytes, ret_data, ret_n))
		return 0;
	z_stream z = { 0 };
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return err_errno(e, ENOMEM, "cannot uncompress");
	struct inflated out = { .first = first_bytes(data, n_bytes) };
	int r = inflate_all(&z, data, n_bytes, max_bytes, &out, e);
	inflateEnd(&z);
	if (r == -E2BIG && max_bytes < GZIP_BYTES_MAX && max_bytes == gzip_plausible_bytes(n_bytes))
		err_hint(e, "that is more than %d times its size, unlike any real profile;\n"
			    "if it is one, uncompress it with gzip -d first", GZIP_BLOWN_UP_TIMES);
	if (r < 0) {
		free(out.p);
		return r;
	}
	*ret_data = out.p;
	*ret_n = out.n;
	return 0;
}
