/*
 * The text, as jemalloc 5 writes it:
 *
 *	heap_v2/524288                            the bytes between two samples
 *	  t*: 28106: 56637512 [0: 0]              blocks: bytes in use [allocated], all threads
 *	  t0: ...                                 the same for each thread
 *	@ 0x5f86da8 0x5f5a1dc                     a stack, innermost first
 *	  t*: 13: 6688 [0: 0]
 *
 *	MAPPED_LIBRARIES:
 *	the text of /proc/self/maps
 */

#include "view/convert/from-jemalloc.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/convert/format.h"
#include "view/convert/fromheap.h"

#include <errno.h>

struct jemalloc {
	struct fromheap heap;
	uint64_t period;
	bool has_stack;         /* "@" came, and its values have not come yet */
	size_t line;
	struct err *e;
};

bool from_jemalloc_is(const char *text, size_t n_bytes)
{
	struct fromtext t = fromtext_of(text, n_bytes);
	return fromtext_take(&t, "heap_v");
}

static int bad_line(const struct jemalloc *x)
{
	return err_set(x->e, EINVAL, "line %zu is not one of a heap profile of jemalloc", x->line);
}

/* "13: 6688 [0: 0]" */
static bool read_values(struct fromtext *t, struct fromheap_pair *in_use,
			struct fromheap_pair *all)
{
	return fromtext_number(t, 10, &in_use->n) && fromtext_take(t, ":") &&
	       fromtext_number(t, 10, &in_use->n_bytes) && fromtext_take(t, "[") &&
	       fromtext_number(t, 10, &all->n) && fromtext_take(t, ":") &&
	       fromtext_number(t, 10, &all->n_bytes) && fromtext_take(t, "]");
}

static int add_line(struct jemalloc *x, struct fromtext line)
{
	struct fromheap_pair pair[3] = { { 0 } };
	if (fromtext_take(&line, "@")) {
		int r = fromheap_addresses(&x->heap, line);
		x->has_stack = true;
		return r == -EINVAL ? bad_line(x) :
		       r < 0 ? err_errno(x->e, -r, "cannot hold the profile") : 0;
	}
	if (!fromtext_take(&line, "t")) {
		fromtext_skip(&line);
		return line.at == line.end ? 0 : bad_line(x);
	}
	/* Sums over threads are enough. */
	if (!fromtext_take(&line, "*:"))
		return 0;
	if (!x->has_stack || !read_values(&line, &pair[1], &pair[0]))
		return bad_line(x);
	x->has_stack = false;
	uint64_t each = pair[1].n ? pair[1].n_bytes / pair[1].n : 0;
	for (unsigned i = 0; i < 2; i++)
		pair[i] = fromheap_unbias(pair[i], x->period);
	fromheap_sample(&x->heap, pair, each);
	return 0;
}

static int read_head(struct jemalloc *x, struct fromtext *t, unsigned *ret_types)
{
	struct fromtext line = { 0 };
	struct fromheap_pair in_use, all = { 0 };
	uint64_t version;
	fromtext_line(t, &line);
	if (!fromtext_take(&line, "heap_v") || !fromtext_number(&line, 10, &version))
		return err_set(x->e, EINVAL, "this is not a heap profile of jemalloc");
	if (version != 2)
		return err_set(x->e, EINVAL, "version heap_v%llu of jemalloc's heap profiles is "
			       "not supported, but heap_v2", (unsigned long long)version);
	if (!fromtext_take(&line, "/") || !fromtext_number(&line, 10, &x->period))
		return err_set(x->e, EINVAL, "the first line has no number of bytes between two "
			       "samples");
	const struct fromtext rest = *t;
	fromtext_line(t, &line);
	if (!fromtext_take(&line, "t*:"))
		*t = rest;
	else if (!read_values(&line, &in_use, &all))
		return err_set(x->e, EINVAL, "line 2 has no sums of the profile");
	*ret_types = FROMHEAP_INUSE | (all.n || all.n_bytes ? FROMHEAP_ALLOC : 0);
	return 0;
}

static void jemalloc_done(struct jemalloc *x)
{
	fromheap_done(&x->heap);
}

int from_jemalloc_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(jemalloc_done) struct jemalloc x = { .e = e, .line = 2 };
	struct fromtext t = fromtext_of(text, n_bytes), line;
	unsigned types = 0;
	int r = read_head(&x, &t, &types);
	if (r == 0)
		r = fromheap_begin(&x.heap, types, x.period, e);
	if (r == 0)
		r = fromheap_maps(&x.heap, t, &t, e);
	for (; r == 0 && fromtext_line(&t, &line); x.line++)
		r = add_line(&x, line);
	return r < 0 ? r : fromheap_finish(&x.heap, ret, e);
}

const struct format from_jemalloc = {
	.name = "jemalloc",
	.contents = "a heap profile of jemalloc",
	.is_alone = true,
	.has_addresses = true,
	.read = from_jemalloc_read,
};
