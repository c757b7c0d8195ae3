/*
 * First the headers of all strings are collected, then their bytes are read at once.
 *
 * A bucket of a map has 8 bytes of hashes, 8 keys, 8 values and the address of the next one.  A
 * hash below 5 means that the entry is empty or was moved.  While a map grows, entries are in the
 * old and in the new buckets; a map of labels may stay in that state for good.
 */

#include "symbolize/runtime/go-labels.h"

#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>
#include <string.h>

#define BUCKET_ENTRIES 8u
#define BUCKET_KEYS 8u
#define BUCKET_VALUES (BUCKET_KEYS + 16u * BUCKET_ENTRIES)
#define BUCKET_NEXT (BUCKET_VALUES + 16u * BUCKET_ENTRIES)
#define BUCKET_BYTES (BUCKET_NEXT + 8u)
#define BUCKETS_MAX 64u                 /* in all; a map of GO_LABELS_MAX labels has 16 or less */
#define LOG_BUCKETS_MAX 5u
#define HASH_MIN 5u
#define MAP_COUNT 0u
#define MAP_FLAGS 8u
#define MAP_LOG_BUCKETS 9u
#define MAP_BUCKETS 16u
#define MAP_OLD_BUCKETS 24u
#define MAP_BYTES 32u
#define MAP_SAME_SIZE 8u                /* flag: growing into as many buckets */

struct string { uint64_t at, n_bytes; };
struct pair { struct string key, value; };

struct pairs {
	struct pair v[GO_LABELS_MAX];
	uint32_t n;
	bool is_cut;
};

static void add_pair(struct pairs *p, const struct string *key, const struct string *value)
{
	if (p->n == GO_LABELS_MAX)
		p->is_cut = true;
	else
		p->v[p->n++] = (struct pair){ *key, *value };
}

/* ---- maps -------------------------------------------------------------------------------- */

static void add_bucket(struct pairs *p, const uint8_t *b)
{
	for (unsigned int i = 0; i < BUCKET_ENTRIES; i++) {
		struct string key, value;
		memcpy(&key, b + BUCKET_KEYS + 16 * i, sizeof(key));
		memcpy(&value, b + BUCKET_VALUES + 16 * i, sizeof(value));
		if (b[i] >= HASH_MIN)
			add_pair(p, &key, &value);
	}
}

/* Reads n buckets and those that they lead to; *left is the number that may still be read. */
static bool read_buckets(const struct runtime_memory *m, uint64_t at, uint32_t n, uint32_t *left,
			 struct pairs *p)
{
	uint8_t b[BUCKET_BYTES];
	for (uint32_t i = 0; i < n; i++) {
		uint64_t next = at + (uint64_t)i * BUCKET_BYTES;
		while (next) {
			if (!*left || !runtime_memory_read(m, next, b, sizeof(b)))
				return false;
			--*left;
			add_bucket(p, b);
			memcpy(&next, b + BUCKET_NEXT, sizeof(next));
		}
	}
	return true;
}

static bool read_map(const struct runtime_memory *m, uint64_t at, struct pairs *p)
{
	uint64_t map, count, buckets, old;
	uint8_t b[MAP_BYTES];
	uint32_t left = BUCKETS_MAX;
	if (!runtime_memory_read(m, at, &map, sizeof(map)))
		return false;
	if (!map)
		return true;
	if (!runtime_memory_read(m, map, b, sizeof(b)))
		return false;
	memcpy(&count, b + MAP_COUNT, sizeof(count));
	memcpy(&buckets, b + MAP_BUCKETS, sizeof(buckets));
	memcpy(&old, b + MAP_OLD_BUCKETS, sizeof(old));
	uint8_t log = b[MAP_LOG_BUCKETS];
	if (!count)
		return true;
	if (log > LOG_BUCKETS_MAX || !buckets || !read_buckets(m, buckets, 1u << log, &left, p))
		return false;
	if (old) {
		uint32_t n = b[MAP_FLAGS] & MAP_SAME_SIZE || !log ? 1u << log : 1u << (log - 1);
		if (!read_buckets(m, old, n, &left, p))
			return false;
	}
	/* fewer: it is not a map, or has just been changed */
	return p->n == count || (p->is_cut && count > p->n);
}

/* ---- slices ------------------------------------------------------------------------------ */

static bool read_slice(const struct runtime_memory *m, uint64_t at, struct pairs *p)
{
	uint64_t slice[3];
	if (!runtime_memory_read(m, at, slice, sizeof(slice)) || slice[1] > slice[2])
		return false;
	p->is_cut = slice[1] > GO_LABELS_MAX;
	p->n = p->is_cut ? GO_LABELS_MAX : (uint32_t)slice[1];
	return !p->n || runtime_memory_read(m, slice[0], p->v, p->n * sizeof(p->v[0]));
}

/* ---- texts ------------------------------------------------------------------------------- */

/* Takes room for a string; *iov and *n_iov receive what is to be read for it. */
static uint32_t place(struct go_labels *l, const struct string *s, struct iovec *remote,
		      uint32_t *n_remote, struct iovec *local)
{
	size_t n = s->n_bytes < GO_LABELS_TEXT_BYTES_MAX ? s->n_bytes : GO_LABELS_TEXT_BYTES_MAX;
	uint32_t off = (uint32_t)l->text.n;
	l->is_cut |= n < s->n_bytes;
	if (n) {
		remote[*n_remote] = (struct iovec){ (void *)(uintptr_t)s->at, n };
		local[(*n_remote)++] = (struct iovec){ l->text.v + off, n };
	}
	memset(l->text.v + off, 0, n + 1);
	l->text.n += n + 1;
	return off;
}

static bool read_texts(const struct runtime_memory *m, const struct pairs *p, struct go_labels *ret)
{
	struct iovec remote[2 * GO_LABELS_MAX], local[2 * GO_LABELS_MAX];
	uint32_t n = 0;
	long n_bytes = 0;
	ret->n = 0;
	ret->text.n = 0;
	ret->is_cut = p->is_cut;
	if (!VEC_RESERVE(&ret->text, (size_t)p->n * 2 * (GO_LABELS_TEXT_BYTES_MAX + 1)))
		return false;
	for (uint32_t i = 0; i < p->n; i++) {
		ret->label[i].key = place(ret, &p->v[i].key, remote, &n, local);
		ret->label[i].value = place(ret, &p->v[i].value, remote, &n, local);
	}
	for (uint32_t i = 0; i < n; i++)
		n_bytes += (long)local[i].iov_len;
	ret->n = p->n;
	return n == 0 || m->read(m->ctx, local, n, remote, n) == n_bytes;
}

static int by_key(const void *a, const void *b, void *text)
{
	const struct go_label *x = a, *y = b;
	return strcmp((const char *)text + x->key, (const char *)text + y->key);
}

bool go_labels_read(const struct runtime_memory *m, enum go_label_format format, uint64_t at,
		    struct go_labels *ret)
{
	struct pairs p;
	p.n = 0;
	p.is_cut = false;
	ret->n = 0;
	if (format == GO_LABELS_MAP ? !read_map(m, at, &p) : !read_slice(m, at, &p))
		return false;
	if (!read_texts(m, &p, ret)) {
		ret->n = 0;
		return false;
	}
	qsort_r(ret->label, ret->n, sizeof(ret->label[0]), by_key, ret->text.v);
	return true;
}

void go_labels_done(struct go_labels *l)
{
	VEC_FREE(&l->text);
	l->n = 0;
}
