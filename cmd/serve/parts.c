#include "cmd/serve/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/serve/hub.h"
#include "view/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The profile is sent once: time matters more than size. */
#define COMPRESSION 1
#define PARTS_MANY 64u

static struct hub_body *body_new(char *data, size_t n_bytes, uint64_t n_samples, uint64_t n_lost)
{
	struct hub_body *b = malloc(sizeof(*b));
	if (b)
		*b = (struct hub_body){ 1, n_samples, n_lost, n_bytes, data };
	else
		free(data);
	return b;
}

int parts_add(struct parts *p, char *data, size_t n_bytes, uint64_t n_samples, uint64_t n_lost)
{
	struct part next = {
		.begin = p->end, .end = p->end + 1,
		.body = body_new(data, n_bytes, n_samples, n_lost),
	};
	if (!next.body)
		return -ENOMEM;
	if (!VEC_PUSH(&p->part, next)) {
		hub_body_release(next.body);
		return -ENOMEM;
	}
	p->end++;
	return 0;
}

struct buffer { VEC(char) bytes; };

static int append(void *ctx, const void *data, size_t n)
{
	struct buffer *b = ctx;
	if (!VEC_RESERVE(&b->bytes, n))
		return -ENOMEM;
	memcpy(b->bytes.v + b->bytes.n, data, n);
	b->bytes.n += n;
	return 0;
}

/* Merges n neighbours to one body, with one reference. */
static int merge_bodies(const struct part *first, size_t n, struct hub_body **ret, struct err *e)
{
	CLEANUP_VEC VEC(struct model_part) input = { 0 };
	CLEANUP(model_freep) struct model *m = NULL;
	struct buffer out = { { 0 } };
	uint64_t n_samples = 0, n_lost = 0;
	for (size_t i = 0; i < n; i++) {
		const struct hub_body *b = first[i].body;
		if (!VEC_PUSH(&input, ((struct model_part){ b->data, b->n_bytes })))
			return err_errno(e, ENOMEM, "cannot merge the profile");
		n_samples += b->n_samples;
		n_lost += b->n_lost;
	}
	int r = model_read_parts(input.v, input.n, &m, e);
	if (r == 0)
		r = model_write(m, append, &out, COMPRESSION, e);
	if (r < 0) {
		VEC_FREE(&out.bytes);
		return e->code ? r : err_errno(e, -r, "cannot merge the profile");
	}
	*ret = body_new(out.bytes.v, out.bytes.n, n_samples, n_lost);
	return *ret ? 0 : err_errno(e, ENOMEM, "cannot merge the profile");
}

int parts_merge(struct parts *p, uint64_t begin, uint64_t end, struct hub_body **ret,
		struct err *e)
{
	size_t from = 0, to = p->part.n;
	while (from < to && p->part.v[from].begin < begin)
		from++;
	while (to > from && p->part.v[to - 1].end > end)
		to--;
	if (from == to)
		return err_set(e, ENODATA, "no part of the recording is left");
	struct hub_body *body = p->part.v[from].body;
	if (p->merged.body && p->merged.begin == begin && p->merged.end == end) {
		body = p->merged.body;
	} else if (to - from > 1) {
		int r = merge_bodies(p->part.v + from, to - from, &body, e);
		if (r < 0)
			return r;
		hub_body_release(p->merged.body);
		p->merged = (struct part){ begin, end, body };
	}
	body->n_refs++;
	*ret = body;
	return 0;
}

void parts_forget(struct parts *p, uint64_t first)
{
	size_t n = 0;
	while (n < p->part.n && p->part.v[n].end <= first)
		hub_body_release(p->part.v[n++].body);
	if (n == 0)
		return;
	p->part.n -= n;
	memmove(p->part.v, p->part.v + n, p->part.n * sizeof(*p->part.v));
}

bool parts_are_many(const struct parts *p)
{
	return p->part.n > PARTS_MANY;
}

static bool is_kept(uint64_t boundary, const uint64_t *window, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (window[i] == boundary)
			return true;
	return false;
}

void parts_compact(struct parts *p, const uint64_t *window, size_t n_windows)
{
	size_t n_out = 0;
	for (size_t i = 0, next; i < p->part.n; i = next) {
		struct part one = p->part.v[i];
		struct err e = { 0 };
		for (next = i + 1; next < p->part.n; next++)
			if (is_kept(p->part.v[next].begin, window, n_windows))
				break;
		struct hub_body *body;
		if (next > i + 1 && merge_bodies(p->part.v + i, next - i, &body, &e) == 0) {
			one.end = p->part.v[next - 1].end;
			one.body = body;
			for (size_t k = i; k < next; k++)
				hub_body_release(p->part.v[k].body);
		} else {
			next = i + 1;
		}
		p->part.v[n_out++] = one;
	}
	p->part.n = n_out;
}

void parts_done(struct parts *p)
{
	parts_forget(p, UINT64_MAX);
	VEC_FREE(&p->part);
	hub_body_release(p->merged.body);
	p->merged.body = NULL;
}
