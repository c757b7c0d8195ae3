/*
 * The text:
 *
 *	heap profile:    3:  4000 [    9:  12000] @ heapprofile        or heap_v2/524288
 *	     1:  1000 [    3:    3000] @ 0x5f86da8 0x5f5a1dc            in use, allocated, the stack
 *
 *	MAPPED_LIBRARIES:
 *	the text of /proc/self/maps
 *
 * The word after @ is the kind.  "heap" is an older name of sampled profiles, with twice the
 * distance between samples.
 */

#include "view/convert/from-gperftools.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/convert/format.h"
#include "view/convert/fromheap.h"

#include <errno.h>

struct gperftools {
	struct fromheap heap;
	uint64_t period;        /* 1: all blocks are there */
	size_t line;
	struct err *e;
};

bool from_gperftools_is(const char *text, size_t n_bytes)
{
	struct fromtext t = fromtext_of(text, n_bytes);
	return fromtext_take(&t, "heap profile:");
}

/* "1: 1000 [ 3: 3000] @" */
static bool read_values(struct fromtext *t, struct fromheap_pair pair[2])
{
	return fromtext_number(t, 10, &pair[1].n) && fromtext_take(t, ":") &&
	       fromtext_number(t, 10, &pair[1].n_bytes) && fromtext_take(t, "[") &&
	       fromtext_number(t, 10, &pair[0].n) && fromtext_take(t, ":") &&
	       fromtext_number(t, 10, &pair[0].n_bytes) && fromtext_take(t, "]") &&
	       fromtext_take(t, "@");
}

static int read_kind(struct gperftools *x, struct fromtext *t)
{
	static const struct { const char *name; unsigned divisor; } sampled[] = {
		{ "heapz_v2/", 1 }, { "heap_v2/", 1 }, { "heap/", 2 },
	};
	fromtext_skip(t);
	const struct fromtext kind = *t;
	if (fromtext_take(t, "heapprofile")) {
		x->period = 1;
		return 0;
	}
	for (size_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i++)
		if (fromtext_take(t, sampled[i].name) && fromtext_number(t, 10, &x->period)) {
			x->period /= sampled[i].divisor;
			return 0;
		}
	return err_set(x->e, EINVAL, "heap profiles of gperftools of the kind '%.*s' are not "
		       "supported, but heapprofile and heap_v2",
		       (int)(fromtext_left(&kind) < 40 ? fromtext_left(&kind) : 40), kind.at);
}

static int read_head(struct gperftools *x, struct fromtext *t)
{
	struct fromtext line = { 0 };
	struct fromheap_pair pair[2];
	fromtext_line(t, &line);
	if (!fromtext_take(&line, "heap profile:") || !read_values(&line, pair))
		return err_set(x->e, EINVAL, "this is not a heap profile of gperftools");
	return read_kind(x, &line);
}

static int add_line(struct gperftools *x, struct fromtext line)
{
	struct fromheap_pair pair[3] = { { 0 } };
	fromtext_skip(&line);
	if (line.at == line.end)
		return 0;
	int r = read_values(&line, pair) ? fromheap_addresses(&x->heap, line) : -EINVAL;
	if (r == -EINVAL)
		return err_set(x->e, EINVAL, "line %zu is not one of a heap profile of gperftools",
			       x->line);
	if (r < 0)
		return err_errno(x->e, -r, "cannot hold the profile");
	const struct fromheap_pair *any = pair[1].n ? &pair[1] : &pair[0];
	uint64_t each = any->n ? any->n_bytes / any->n : 0;
	for (unsigned i = 0; i < 2; i++)
		pair[i] = fromheap_unbias(pair[i], x->period);
	fromheap_sample(&x->heap, pair, each);
	return 0;
}

static void gperftools_done(struct gperftools *x)
{
	fromheap_done(&x->heap);
}

int from_gperftools_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(gperftools_done) struct gperftools x = { .e = e, .line = 2 };
	struct fromtext t = fromtext_of(text, n_bytes), line;
	int r = read_head(&x, &t);
	if (r == 0)
		r = fromheap_begin(&x.heap, FROMHEAP_ALLOC | FROMHEAP_INUSE, x.period, e);
	if (r == 0)
		r = fromheap_maps(&x.heap, t, &t, e);
	for (; r == 0 && fromtext_line(&t, &line); x.line++)
		r = add_line(&x, line);
	return r < 0 ? r : fromheap_finish(&x.heap, ret, e);
}

const struct format from_gperftools = {
	.name = "gperftools",
	.contents = "a heap profile of gperftools",
	.is_alone = true,
	.has_addresses = true,
	.read = from_gperftools_read,
};
