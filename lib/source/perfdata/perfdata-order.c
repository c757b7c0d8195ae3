/*
 * Almost all records of a ring are in order, so an array is a sequence of a few long runs.  Runs
 * are found and merged in pairs: n log(rings), and a single pass for one ring.
 */

#include "source/perfdata/perfdata-order.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void perfdata_order_done(struct perfdata_order *o)
{
	free(o->v);
	free(o->tmp);
	*o = (struct perfdata_order){ 0 };
}

/* Moves the entries that were not taken to the front. */
static void drop_taken(struct perfdata_order *o)
{
	if (!o->at)
		return;
	o->n -= o->at;
	o->n_sorted -= o->n_sorted < o->at ? o->n_sorted : o->at;
	memmove(o->v, o->v + o->at, o->n * sizeof(*o->v));
	o->at = o->n_ready = 0;
}

struct perfdata_entry *perfdata_order_add(struct perfdata_order *o, uint64_t time_ns)
{
	drop_taken(o);
	if (!VEC_RESERVE(o, 1))
		return NULL;
	if (time_ns && time_ns < o->ready_ns)
		o->n_early++;
	if (time_ns > o->youngest_ns)
		o->youngest_ns = time_ns;
	struct perfdata_entry *entry = &o->v[o->n++];
	entry->time_ns = time_ns;
	return entry;
}

static size_t run_end(const struct perfdata_entry *v, size_t from, size_t n)
{
	size_t i = from + 1;
	while (i < n && v[i].time_ns >= v[i - 1].time_ns)
		i++;
	return i < n ? i : n;
}

static void merge(const struct perfdata_entry *a, size_t na, const struct perfdata_entry *b,
		  size_t nb, struct perfdata_entry *to)
{
	while (na && nb) {
		if (b->time_ns < a->time_ns)
			*to++ = *b++, nb--;
		else
			*to++ = *a++, na--;
	}
	memcpy(to, na ? a : b, (na + nb) * sizeof(*to));
}

static int sort(struct perfdata_order *o)
{
	size_t from = o->n_sorted ? o->n_sorted - 1 : 0;
	if (o->n < 2 || (run_end(o->v, from, o->n) == o->n)) {
		o->n_sorted = o->n;
		return 0;
	}
	if (o->cap_tmp < o->cap) {
		free(o->tmp);
		o->tmp = calloc(o->cap, sizeof(*o->tmp));
		o->cap_tmp = o->tmp ? o->cap : 0;
		if (!o->tmp)
			return -ENOMEM;
	}
	for (bool is_one = false; !is_one;) {
		is_one = true;
		size_t out = 0;
		for (size_t a = 0; a < o->n;) {
			size_t b = run_end(o->v, a, o->n);
			size_t end = b < o->n ? run_end(o->v, b, o->n) : b;
			merge(o->v + a, b - a, o->v + b, end - b, o->tmp + out);
			is_one &= a == 0 && end == o->n;
			out += end - a;
			a = end;
		}
		struct perfdata_entry *swap = o->v;
		size_t cap = o->cap;
		o->v = o->tmp;
		o->tmp = swap;
		o->cap = o->cap_tmp;
		o->cap_tmp = cap;
	}
	o->n_sorted = o->n;
	return 0;
}

static int make_ready(struct perfdata_order *o, uint64_t limit_ns)
{
	drop_taken(o);
	int r = sort(o);
	if (r < 0)
		return r;
	size_t n = o->n_ready = SEARCH_COUNT(o->n, i, o->v[i].time_ns <= limit_ns);
	if (n && o->v[n - 1].time_ns > o->ready_ns)
		o->ready_ns = o->v[n - 1].time_ns;
	return 0;
}

int perfdata_order_round(struct perfdata_order *o)
{
	int r = make_ready(o, o->round_ns);
	o->round_ns = o->youngest_ns;
	return r;
}

int perfdata_order_until(struct perfdata_order *o, uint64_t now_ns)
{
	int r = make_ready(o, o->round_ns);
	o->round_ns = now_ns;
	return r;
}

int perfdata_order_end(struct perfdata_order *o)
{
	return make_ready(o, UINT64_MAX);
}

int perfdata_order_half(struct perfdata_order *o)
{
	drop_taken(o);
	int r = sort(o);
	return r < 0 ? r : make_ready(o, o->n ? o->v[o->n / 2].time_ns : 0);
}

const struct perfdata_entry *perfdata_order_take(struct perfdata_order *o)
{
	return o->at < o->n_ready ? &o->v[o->at++] : NULL;
}
