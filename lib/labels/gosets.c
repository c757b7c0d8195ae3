/*
 * The memory that a set is read from is recorded while it is read, so that this file needs to know
 * no format.
 */
#include "labels/gosets.h"

#include "agg/labels.h"
#include "base/hash.h"
#include "labels/appvalues.h"
#include "labels/gopieces.h"
#include "labels/gotimes.h"
#include "symbolize/runtime/runtime-memory.h"

#include <string.h>

/* Of one program; then all are forgotten. */
#define SETS_MAX 4096u
#define BYTES_MAX (4u << 20)
/* A sample has other labels, too. */
#define LABELS_MAX (LABELS_PER_SET_MAX - 16)

void gosets_init(struct gosets *s, struct appvalues *values, struct labels *labels,
		 enum go_label_format format)
{
	*s = (struct gosets){ .values = values, .labels = labels, .format = format };
}

void gosets_clear(struct gosets *s)
{
	for (size_t i = 0; i < s->known.n; i++) {
		VEC_FREE(&s->known.v[i].piece);
		VEC_FREE(&s->known.v[i].bytes);
	}
	VEC_FREE(&s->known);
	hashindex_done(&s->by_at);
	s->n_bytes = 0;
}

void gosets_done(struct gosets *s)
{
	gosets_clear(s);
	go_labels_done(&s->text);
}

void gosets_begin(struct gosets *s)
{
	if (s->known.n >= SETS_MAX || s->n_bytes >= BYTES_MAX)
		gosets_clear(s);
	s->reading++;
}

static struct gosets_set *find(struct gosets *s, uint64_t at)
{
	uint32_t i = HASHINDEX_FIND(&s->by_at, hash_u64(at), id, s->known.v[id].at == at);
	return i == HASHINDEX_NONE ? NULL : &s->known.v[i];
}

/* ---- what a set was made of -------------------------------------------------------------- */

void gosets_queue(struct gosets *s, uint64_t at, struct gopieces *p)
{
	struct gosets_set *x = at ? find(s, at) : NULL;
	if (!x || x->reading == s->reading || x->first_queued != GOPIECES_NONE)
		return;
	for (size_t i = 0; i < x->piece.n; i++) {
		uint32_t piece = gopieces_add(p, x->piece.v[i].at, x->piece.v[i].n_bytes);
		if (piece == GOPIECES_NONE) {
			x->first_queued = GOPIECES_NONE;
			return;
		}
		x->first_queued = i ? x->first_queued : piece;
	}
}

static bool is_same(const struct gosets_set *x, const struct gopieces *p)
{
	for (size_t i = 0; i < x->piece.n; i++) {
		const struct gosets_piece *was = &x->piece.v[i];
		const uint8_t *now = gopieces_get(p, x->first_queued + (uint32_t)i);
		if (!now || memcmp(now, x->bytes.v + was->off, was->n_bytes) != 0)
			return false;
	}
	return true;
}

void gosets_compare(struct gosets *s, const struct gopieces *p)
{
	for (size_t i = 0; i < s->known.n; i++) {
		struct gosets_set *x = &s->known.v[i];
		if (x->first_queued == GOPIECES_NONE)
			continue;
		if (is_same(x, p))
			x->reading = s->reading;
		x->first_queued = GOPIECES_NONE;
	}
}

/* Reads memory, and notes what was read. */
struct noting {
	const struct runtime_memory *from;
	struct gosets_set *set;
	bool is_out;
};

static long read_noting(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct noting *r = ctx;
	struct gosets_set *x = r->set;
	long got = r->from->read(r->from->ctx, local, n_local, remote, n_remote);
	long left = got;
	for (size_t i = 0; i < n_remote && left >= (long)remote[i].iov_len; i++) {
		size_t n = remote[i].iov_len;
		if (!VEC_RESERVE(&x->piece, 1) || !VEC_RESERVE(&x->bytes, n)) {
			r->is_out = true;
			break;
		}
		memcpy(x->bytes.v + x->bytes.n, local[i].iov_base, n);
		x->piece.v[x->piece.n++] = (struct gosets_piece){
			(uintptr_t)remote[i].iov_base, (uint32_t)x->bytes.n, (uint32_t)n,
		};
		x->bytes.n += n;
		left -= (long)n;
	}
	return got;
}

/* ---- sets -------------------------------------------------------------------------------- */

static uint32_t make_set(struct gosets *s)
{
	struct label label[LABELS_MAX];
	uint32_t n = 0;
	bool is_other = s->text.n > LABELS_MAX;
	for (; n < s->text.n && n < LABELS_MAX; n++) {
		const struct go_label *l = &s->text.label[n];
		is_other |= !appvalues_label(s->values, go_labels_text(&s->text, l->key),
					     go_labels_text(&s->text, l->value), &label[n]);
	}
	s->n_other += is_other;
	uint32_t id = labels_add(s->labels, label, n, false);
	return id == LABELS_NONE ? GOTIMES_UNKNOWN : id;
}

static uint32_t read_set(struct gosets *s, const struct runtime_memory *m, struct gosets_set *x)
{
	struct noting noting = { .from = m, .set = x };
	const struct runtime_memory through = { .read = read_noting, .ctx = &noting };
	s->n_bytes -= x->bytes.n;
	x->piece.n = x->bytes.n = 0;
	x->set = go_labels_read(&through, s->format, x->at, &s->text) && !noting.is_out
			 ? make_set(s) : GOTIMES_UNKNOWN;
	s->n_bytes += x->bytes.n;
	x->reading = s->reading;
	return x->set;
}

static struct gosets_set *add(struct gosets *s, uint64_t at)
{
	const struct gosets_set fresh = { .at = at, .first_queued = GOPIECES_NONE };
	if (!VEC_RESERVE(&s->known, 1) ||
	    !hashindex_add(&s->by_at, hash_u64(at), (uint32_t)s->known.n))
		return NULL;
	s->known.v[s->known.n++] = fresh;
	return &s->known.v[s->known.n - 1];
}

uint32_t gosets_get(struct gosets *s, const struct runtime_memory *m, uint64_t at)
{
	if (!at)
		return 0;
	struct gosets_set *x = find(s, at);
	if (x && x->reading == s->reading)
		return x->set;
	if (!x && s->known.n < 2 * SETS_MAX)
		x = add(s, at);
	return x ? read_set(s, m, x) : GOTIMES_UNKNOWN;
}
