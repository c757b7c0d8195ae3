#include "symbolize/pack/packmarks.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbolize/pack/cachefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

/*
 * The file: a header, then records of one size, each with its checksum, written one by one as the
 * unpacking goes on.  So what was found out is there even if we are killed, and others can use it
 * meanwhile; who writes has the file locked.  Windows stay in the file until one is needed.
 *
 * A record that was cut short (the disk was full) is written over by the next writer; a file that
 * begins otherwise is removed and begun anew.
 */

#define VERSION 1u

static const char magic[8] = "cprofmrk";

struct header {
	char magic[8];
	uint32_t version, record_bytes;
	struct packcache_key key;
	uint64_t sum;                /* of all this */
};

struct record {
	struct packmarks_place place;
	uint64_t sum;                /* of place and window */
	uint8_t window[PACKMARKS_WINDOW_BYTES];
};

struct entry {
	struct packmarks_place place;
	uint64_t record;
};

struct packmarks {
	struct packcache_key key;
	int dir_fd, fd;              /* -1: there is none */
	bool is_writer;
	uint64_t n_records;          /* with those that are passed over */
	struct record record;        /* the one at work */
	VEC(struct entry) entries;
};

static uint64_t header_sum(const struct header *h)
{
	return crc32(crc32(0, NULL, 0), (const void *)h, offsetof(struct header, sum));
}

static uint64_t record_sum(const struct record *r)
{
	uLong sum = crc32(crc32(0, NULL, 0), (const void *)&r->place, sizeof(r->place));
	return crc32(sum, r->window, sizeof(r->window));
}

static uint64_t record_off(uint64_t i)
{
	return sizeof(struct header) + i * sizeof(struct record);
}

static struct header make_header(const struct packcache_key *key)
{
	struct header h = { .version = VERSION, .record_bytes = sizeof(struct record),
			    .key = *key };
	memcpy(h.magic, magic, sizeof(magic));
	h.sum = header_sum(&h);
	return h;
}

/* ---- opening --------------------------------------------------------------- */

static bool can_be(const struct packmarks *m, const struct packmarks_place *p)
{
	uint64_t last = m->entries.n ? m->entries.v[m->entries.n - 1].place.off : 0;
	return p->off > last && p->off >= PACKMARKS_WINDOW_BYTES && p->off < m->key.n_bytes &&
	       p->in.in_off < m->key.n_packed && p->in.in_bit < 8;
}

static bool read_entries(struct packmarks *m)
{
	for (uint64_t i = 0; i < m->n_records && i < PACKMARKS_N_MAX; i++) {
		struct entry e = { .record = i };
		if (pread(m->fd, &e.place, sizeof(e.place), (off_t)record_off(i)) !=
		    sizeof(e.place))
			return true;
		if (can_be(m, &e.place) && !VEC_PUSH(&m->entries, e))
			return false;
	}
	return true;
}

/* Does it begin with the right header? */
static bool is_good(struct packmarks *m, uint64_t n_bytes)
{
	struct header h, want = make_header(&m->key);
	if (n_bytes < sizeof(h) || pread(m->fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(&h, &want, sizeof(h)) != 0)
		return false;
	m->n_records = (n_bytes - sizeof(h)) / sizeof(struct record);
	return true;
}

static void give_up(struct packmarks *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	m->is_writer = false;
	m->entries.n = 0;
}

/* Opens the file, and begins it where it is empty; false: it is no good. */
static bool open_file(struct packmarks *m, const char *name)
{
	uint64_t n_bytes;
	m->fd = cachefile_open_rw(m->dir_fd, name, &n_bytes);
	if (m->fd < 0)
		return true;
	m->is_writer = flock(m->fd, LOCK_EX | LOCK_NB) == 0;
	if (n_bytes && is_good(m, n_bytes))
		return true;
	struct header h = make_header(&m->key);
	bool ok = !n_bytes && m->is_writer && pwrite(m->fd, &h, sizeof(h), 0) == sizeof(h);
	/* another one may be about to write it */
	bool is_begun = !n_bytes && !m->is_writer;
	if (!ok)
		give_up(m);
	return ok || is_begun;
}

int packmarks_open(const char *dir, const struct packcache_key *key, struct packmarks **ret)
{
	char name[PACKCACHE_NAME_BYTES];
	struct packmarks *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->key = *key;
	m->fd = -1;
	m->dir_fd = cachefile_open_dir(dir);
	packcache_name(key, 'm', name);
	if (m->dir_fd >= 0 && !open_file(m, name) && unlinkat(m->dir_fd, name, 0) == 0)
		open_file(m, name);
	if (m->fd >= 0) {
		cachefile_touch(m->fd);
		if (!read_entries(m)) {
			packmarks_close(m);
			return -ENOMEM;
		}
	}
	*ret = m;
	return 0;
}

void packmarks_close(struct packmarks *m)
{
	char name[PACKCACHE_NAME_BYTES];
	if (!m)
		return;
	packcache_name(&m->key, 'm', name);
	if (m->is_writer)
		packcache_limit(m->dir_fd, name, record_off(m->n_records));
	give_up(m);
	if (m->dir_fd >= 0)
		close(m->dir_fd);
	VEC_FREE(&m->entries);
	free(m);
}

size_t packmarks_n(const struct packmarks *m)
{
	return m->entries.n;
}

size_t packmarks_before(const struct packmarks *m, uint64_t off)
{
	size_t lo = 0, hi = m->entries.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->entries.v[mid].place.off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct packmarks_place packmarks_get(const struct packmarks *m, size_t i)
{
	return m->entries.v[i].place;
}

bool packmarks_window(struct packmarks *m, size_t i, uint8_t *to)
{
	const struct entry *e = &m->entries.v[i];
	struct record *r = &m->record;
	if (pread(m->fd, r, sizeof(*r), (off_t)record_off(e->record)) == sizeof(*r) &&
	    memcmp(&r->place, &e->place, sizeof(r->place)) == 0 && r->sum == record_sum(r)) {
		memcpy(to, r->window, sizeof(r->window));
		return true;
	}
	m->entries.n--;
	memmove(&m->entries.v[i], &m->entries.v[i + 1], (m->entries.n - i) * sizeof(*e));
	return false;
}

bool packmarks_add(struct packmarks *m, const struct packmarks_place *place, const uint8_t *window)
{
	struct record *r = &m->record;
	if (!m->is_writer || m->n_records == PACKMARKS_N_MAX || !can_be(m, place) ||
	    !VEC_RESERVE(&m->entries, 1))
		return false;
	r->place = *place;
	memcpy(r->window, window, sizeof(r->window));
	r->sum = record_sum(r);
	m->is_writer = pwrite(m->fd, r, sizeof(*r), (off_t)record_off(m->n_records)) ==
		       sizeof(*r);
	if (m->is_writer)
		m->entries.v[m->entries.n++] = (struct entry){ *place, m->n_records++ };
	return m->is_writer;
}
