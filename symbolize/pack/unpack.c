#include "symbolize/pack/unpack.h"

#include "base/vec.h"
#include "symbolize/pack/deflate.h"
#include "symbolize/pack/packcache.h"
#include "symbolize/pack/packmarks.h"
#include "symbolize/pack/unpack-zstd.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

/*
 * A compressed section can only be unpacked from its beginning.  It is, as far as somebody asks:
 * the line of one address needs a hundredth of a C library's debug information, on average half.
 *
 * A section that is not too large stays in memory as far as it is unpacked.  Of a larger one
 * a buffer slides along, which serves those who ask in the order of the section, and now and then
 * a mark is left, with the window that the next block may refer to: going back starts at the last
 * mark before the place.  (zstd's window is not to be had; going back there starts anew.)
 *
 * What was unpacked of a section that is kept is there the next time (packcache.c), and the
 * unpacking goes on behind it.  (With zstd, from the beginning again.)  Of a larger one its marks
 * are (packmarks.c), closer to each other, since they take no memory then: the next time only
 * those units of .debug_info are unpacked that somebody asks for.
 *
 * The file is read piece by piece, never mapped: it may be cut short meanwhile.
 */

#define INPUT_BYTES (64u << 10)
#define SLIDING_BYTES (1u << 20)  /* of a section that is not kept */
#define BEHIND_BYTES (192u << 10) /* what stays of that when it slides */
#define MARK_BYTES (2u << 20)     /* from one mark to the next, at least */
#define N_MARKS_MAX 1024u         /* 32 MB of windows; beyond, every other one is dropped */

#define FILE_MARK_BYTES (256u << 10) /* the same for marks in a file */

#define AHEAD_BYTES (256u << 10)     /* after which somebody may be told to stop: 1 ms */

#define CACHED_BYTES_MIN (64u << 10) /* unpacking less takes no time */

/* Deflate cannot do better than 1032 : 1; zstd is believed the same. */
#define RATIO_MAX 1032u

struct mark {
	struct packcache_place in;
	uint64_t off;
	uint8_t *window;
};

struct unpack {
	enum unpack_kind kind;
	struct unpack_from from;
	uint64_t n_bytes;
	bool is_kept, has_failed;
	uint64_t in_off;         /* of the next input to be read, in `from` */
	uint8_t *in;             /* INPUT_BYTES, where that is a file */
	uint8_t *out;
	size_t n_out, cap;
	uint64_t out_off;        /* of out[0], in the section */
	struct deflate deflate;
	struct unpack_zstd *zstd;
	VEC(struct mark) marks;
	uint64_t mark_bytes;
	struct packmarks *file_marks; /* instead of marks */

	/* of a section that is kept, between recordings */
	bool is_cacheable;
	struct packcache_key key;
	struct packcache *cache; /* of its beginning; out has those bytes that were asked for */
	bool was_too_little;     /* it is not the first time, and again more is wanted */
	struct mark end;         /* of the last whole block */
};

/* ---- input --------------------------------------------------------------- */

/* What is left of the input moves to the front, and more is read behind it. */
static bool bring_input(struct unpack *u)
{
	struct deflate_input *in = &u->deflate.in;
	size_t n_left = (size_t)(in->end - in->p);
	uint64_t n_more = u->from.n_bytes - u->in_off;
	if (u->from.memory) {
		in->end = u->from.memory + u->from.n_bytes;
		u->in_off = u->from.n_bytes;
		u->deflate.is_last_input = true;
		return true;
	}
	memmove(u->in, in->p, n_left);
	in->p = u->in;
	in->end = u->in + n_left;
	if (n_more > INPUT_BYTES - n_left)
		n_more = INPUT_BYTES - n_left;
	ssize_t n = n_more ? pread(u->from.fd, u->in + n_left, n_more,
				   (off_t)(u->from.off + u->in_off)) : 0;
	if (n < 0 || (n == 0 && n_more))
		return false;
	in->end += n;
	u->in_off += (uint64_t)n;
	u->deflate.is_last_input = u->in_off == u->from.n_bytes;
	return true;
}

/* Reading goes on at that byte of the input. */
static bool start_input(struct unpack *u, uint64_t in_off)
{
	u->in_off = in_off;
	u->deflate.is_last_input = false;
	u->deflate.in.p = u->deflate.in.end = u->from.memory ? u->from.memory + in_off : u->in;
	return bring_input(u);
}

/* ---- marks --------------------------------------------------------------- */

static void drop_every_other_mark(struct unpack *u)
{
	size_t n = 0;
	for (size_t i = 0; i < u->marks.n; i++)
		if (i % 2)
			free(u->marks.v[i].window);
		else
			u->marks.v[n++] = u->marks.v[i];
	u->marks.n = n;
	u->mark_bytes *= 2;
}

/* How far those of n marks in the file reach; 0: there are none. */
static uint64_t file_mark_off(const struct unpack *u, size_t n)
{
	return n ? packmarks_get(u->file_marks, n - 1).off : 0;
}

static uint64_t last_mark_off(const struct unpack *u)
{
	uint64_t in_file = file_mark_off(u, u->file_marks ? packmarks_n(u->file_marks) : 0);
	uint64_t here = u->marks.n ? u->marks.v[u->marks.n - 1].off : 0;
	return here > in_file ? here : in_file;
}

/* In front of a block.  Where memory is out there is no mark. */
static void leave_mark(struct unpack *u)
{
	const struct deflate_input *in = &u->deflate.in;
	uint64_t off = u->out_off + u->n_out;
	uint64_t n_bits = (u->in_off - (uint64_t)(in->end - in->p)) * 8 - in->n_bits;
	struct mark m = { .in = { n_bits / 8, n_bits % 8 }, .off = off };
	if (u->is_kept)
		u->end = m;
	if (u->is_kept || off < last_mark_off(u) + u->mark_bytes || u->n_out < DEFLATE_WINDOW_BYTES)
		return;
	const uint8_t *window = u->out + u->n_out - DEFLATE_WINDOW_BYTES;
	const struct packmarks_place place = { off, m.in };
	if (u->file_marks && packmarks_add(u->file_marks, &place, window))
		return;
	if (u->marks.n == N_MARKS_MAX)
		drop_every_other_mark(u);
	m.window = malloc(DEFLATE_WINDOW_BYTES);
	if (!m.window)
		return;
	memcpy(m.window, window, DEFLATE_WINDOW_BYTES);
	if (!VEC_PUSH(&u->marks, m))
		free(m.window);
}

/* The last mark at or before off; NULL: the beginning. */
static const struct mark *mark_before(const struct unpack *u, uint64_t off)
{
	size_t n = u->marks.n;
	while (n && u->marks.v[n - 1].off > off)
		n--;
	return n ? &u->marks.v[n - 1] : NULL;
}

static bool start_at_beginning(struct unpack *u)
{
	u->out_off = u->n_out = 0;
	deflate_start(&u->deflate);
	if (u->kind == UNPACK_ZSTD) {
		unpack_zstd_restart(u->zstd);
		return start_input(u, 0);
	}
	/* RFC 1950: two bytes in front; neither a preset dictionary nor the checksum is of use */
	return u->from.n_bytes > 2 && start_input(u, 2);
}

static bool start_at(struct unpack *u, struct packcache_place in)
{
	deflate_start(&u->deflate);
	if (!start_input(u, in.in_off))
		return false;
	deflate_skip_bits(&u->deflate, (unsigned)in.in_bit);
	return true;
}

/* In front of the block at off; the window is there already. */
static bool start_behind_window(struct unpack *u, uint64_t off, struct packcache_place in)
{
	u->out_off = off - DEFLATE_WINDOW_BYTES;
	u->n_out = DEFLATE_WINDOW_BYTES;
	return start_at(u, in);
}

/* At the last mark before off that lies beyond `from`.  False where there is none. */
static bool start_at_mark(struct unpack *u, uint64_t off, uint64_t from)
{
	const struct mark *m = mark_before(u, off);
	size_t n = u->file_marks ? packmarks_before(u->file_marks, off) : 0;
	if (m && m->off > from)
		from = m->off;
	else
		m = NULL;
	for (; file_mark_off(u, n) > from; n--) {
		struct packmarks_place place = packmarks_get(u->file_marks, n - 1);
		if (!packmarks_window(u->file_marks, n - 1, u->out))
			continue;
		u->has_failed = !start_behind_window(u, place.off, place.in);
		return true;
	}
	if (!m)
		return false;
	memcpy(u->out, m->window, DEFLATE_WINDOW_BYTES);
	u->has_failed = !start_behind_window(u, m->off, m->in);
	return true;
}

/* ---- what is there from before --------------------------------------------- */

static void find_cached(struct unpack *u)
{
	const struct unpack_from *from = &u->from;
	u->key = (struct packcache_key){ .off = from->off, .n_packed = from->n_bytes,
					 .n_bytes = u->n_bytes, .kind = u->kind };
	u->is_cacheable = from->cache_dir && !from->memory &&
			  packcache_set_file(&u->key, from->fd);
	if (u->is_cacheable && u->is_kept &&
	    packcache_open(from->cache_dir, &u->key, &u->cache) == 0)
		u->n_out = (size_t)packcache_bytes(u->cache);
	if (u->is_cacheable && !u->is_kept && u->kind == UNPACK_ZLIB &&
	    packmarks_open(from->cache_dir, &u->key, &u->file_marks) == 0)
		u->mark_bytes = FILE_MARK_BYTES > u->n_bytes / PACKMARKS_N_MAX ?
				FILE_MARK_BYTES : u->n_bytes / PACKMARKS_N_MAX;
}

/* It is no good: everything from the beginning. */
static void forget_cached(struct unpack *u)
{
	packcache_close(u->cache);
	u->cache = NULL;
	u->has_failed = !start_at_beginning(u);
}

/* What is to come next is what follows the cached bytes. */
static void resume(struct unpack *u)
{
	uint64_t n = packcache_bytes(u->cache);
	uint64_t window = n < DEFLATE_WINDOW_BYTES ? n : DEFLATE_WINDOW_BYTES;
	u->was_too_little = true;
	if (u->kind != UNPACK_ZLIB ||
	    !packcache_fill(u->cache, u->out, n - window, (size_t)window) ||
	    !start_at(u, packcache_rest(u->cache)))
		forget_cached(u);
}

/* ---- output -------------------------------------------------------------- */

static bool run_zstd(struct unpack *u, size_t goal)
{
	struct deflate_input *in = &u->deflate.in;
	while (u->n_out < goal) {
		const uint8_t *before = in->p;
		long n = unpack_zstd_run(u->zstd, &in->p, in->end, u->out + u->n_out,
					 goal - u->n_out);
		if (n < 0)
			return false;
		u->n_out += (size_t)n;
		bool is_stuck = !n && in->p == before;
		if (is_stuck && u->deflate.is_last_input)
			return false;
		if (in->p == in->end && !u->deflate.is_last_input && !bring_input(u))
			return false;
	}
	return true;
}

/* Up to the goal, or only to the end of the block. */
static bool run_deflate(struct unpack *u, size_t goal, bool only_block)
{
	for (;;) {
		switch (deflate_run(&u->deflate, u->out, &u->n_out, goal)) {
		case DEFLATE_ENOUGH:
			return true;
		case DEFLATE_HUNGRY:
			if (!bring_input(u))
				return false;
			break;
		case DEFLATE_BETWEEN:
			leave_mark(u);
			if (only_block)
				return true;
			break;
		case DEFLATE_DONE:
		case DEFLATE_BAD:
			return false;
		}
	}
}

/* Makes room behind what is there. */
static void slide(struct unpack *u)
{
	size_t n = u->n_out - BEHIND_BYTES;
	memmove(u->out, u->out + n, BEHIND_BYTES);
	u->out_off += n;
	u->n_out = BEHIND_BYTES;
}

static bool is_late(const struct unpack *u)
{
	struct timespec t;
	if (!u->from.deadline_ns)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec >= u->from.deadline_ns;
}

static bool run(struct unpack *u, size_t goal)
{
	return u->kind == UNPACK_ZSTD ? run_zstd(u, goal) : run_deflate(u, goal, false);
}

/* Unpacks up to `end` of the section or to the end of the buffer; false when nothing more comes. */
static bool advance(struct unpack *u, uint64_t end)
{
	u->has_failed |= is_late(u);
	if (u->cache && !u->was_too_little && !u->has_failed)
		resume(u);
	if (u->has_failed)
		return false;
	if (!u->is_kept && u->n_out >= u->cap)
		slide(u);
	size_t goal = u->cap;
	if (end - u->out_off < goal)
		goal = (size_t)(end - u->out_off);
	bool ok = run(u, goal);
	if (!ok && u->cache) {
		forget_cached(u);
		ok = !u->has_failed && run(u, goal);
	}
	u->has_failed |= !ok;
	return ok;
}

/* Brings the buffer before off, if it is behind, and further on where a mark is nearer. */
static bool seek(struct unpack *u, uint64_t off)
{
	bool is_back = off < u->out_off;
	if (start_at_mark(u, off, is_back ? 0 : u->out_off + u->n_out))
		return !u->has_failed;
	if (is_back)
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
			/* what came before the damage counts */
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
	if (u->cache && !packcache_fill(u->cache, u->out, off, *io_n_bytes)) {
		forget_cached(u);
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

static bool is_cached(const struct unpack *u)
{
	if (u->is_kept)
		return !u->is_cacheable || (u->cache && packcache_bytes(u->cache) == u->n_bytes);
	return !u->file_marks || last_mark_off(u) + 2 * u->mark_bytes >= u->n_bytes;
}

void unpack_ahead(struct unpack *u, const atomic_bool *stop)
{
	if (is_cached(u))
		return;
	if (!u->is_kept)
		start_at_mark(u, u->n_bytes, 0);
	for (bool more = true; more && !atomic_load(stop);) {
		uint64_t there = u->out_off + u->n_out;
		uint64_t n_left = u->n_bytes - there;
		more = n_left && advance(u, there + (n_left < AHEAD_BYTES ? n_left : AHEAD_BYTES));
	}
	/* who is told to stop has no time to write a copy */
	u->is_cacheable &= !atomic_load(stop);
}

/* ---- opening ------------------------------------------------------------- */

int unpack_open(enum unpack_kind kind, const struct unpack_from *from, uint64_t n_bytes,
		uint64_t keep_bytes, struct unpack **ret_unpack)
{
	if ((kind != UNPACK_ZLIB && kind != UNPACK_ZSTD) || !n_bytes ||
	    n_bytes / RATIO_MAX > from->n_bytes)
		return -EINVAL;
	struct unpack *u = calloc(1, sizeof(*u));
	int r = u && kind == UNPACK_ZSTD ? unpack_zstd_new(&u->zstd) : 0;
	if (!u || r) {
		free(u);
		return u ? r : -ENOMEM;
	}
	u->kind = kind;
	u->from = *from;
	u->n_bytes = n_bytes;
	u->mark_bytes = MARK_BYTES;
	u->is_kept = n_bytes <= keep_bytes;
	u->cap = u->is_kept ? (size_t)n_bytes : SLIDING_BYTES;
	u->out = malloc(u->cap + DEFLATE_SLACK_BYTES);
	u->in = malloc(INPUT_BYTES);
	if (!u->out || !u->in) {
		unpack_close(u);
		return -ENOMEM;
	}
	find_cached(u);
	if (!u->cache)
		u->has_failed = !start_at_beginning(u);
	*ret_unpack = u;
	return 0;
}

/* ---- closing --------------------------------------------------------------- */

/* Keeps what came on top of what was there, up to the end of a block.  Who comes back for more is
 * taken to do so again, and gets all. */
static void save(struct unpack *u)
{
	uint64_t n_before = u->cache ? packcache_bytes(u->cache) : 0, n = u->n_out;
	if (!u->is_cacheable || !u->is_kept || u->has_failed || n <= n_before ||
	    n < CACHED_BYTES_MIN)
		return;
	if (u->was_too_little)
		advance(u, u->n_bytes);
	n = u->n_out;
	if (u->kind == UNPACK_ZLIB) {
		if (n < u->n_bytes && !run_deflate(u, u->cap, true))
			return;
		n = u->n_out < u->n_bytes ? u->end.off : u->n_bytes;
	}
	if (n > n_before && (!u->cache || packcache_fill(u->cache, u->out, 0, (size_t)n_before)))
		packcache_save(u->from.cache_dir, &u->key, u->out, n, u->end.in);
}

void unpack_close(struct unpack *u)
{
	if (!u)
		return;
	save(u);
	packcache_close(u->cache);
	packmarks_close(u->file_marks);
	for (size_t i = 0; i < u->marks.n; i++)
		free(u->marks.v[i].window);
	VEC_FREE(&u->marks);
	unpack_zstd_free(u->zstd);
	free(u->out);
	free(u->in);
	free(u);
}
