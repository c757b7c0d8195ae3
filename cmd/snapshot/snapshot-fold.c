#include "cmd/snapshot/snapshot-fold.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/snapshot/snapshot-text.h"
#include "cprof-snapshot.h"

#include <errno.h>
#include <stdlib.h>

/* So many threads of a stack are listed. */
#define LISTED_MAX 20u

struct folded { uint32_t stack, entry, n; };

static int compare_stack(const void *a, const void *b)
{
	const struct folded *x = a, *y = b;
	if (x->stack != y->stack)
		return (x->stack > y->stack) - (x->stack < y->stack);
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static int compare_n(const void *a, const void *b)
{
	const struct folded *x = a, *y = b;
	if (x->n != y->n)
		return (x->n < y->n) - (x->n > y->n);
	return compare_stack(a, b);
}

static void print_threads(FILE *to, const struct cprof_recorder *r, const struct folded *first,
			  uint32_t n)
{
	struct cprof_snapshot_entry e;
	for (uint32_t i = 0; i < n && i < LISTED_MAX; i++) {
		cprof_snapshot_entry(r, first[i].entry, &e);
		snapshot_text_entry(to, r, first[i].entry, &e);
	}
	if (n > LISTED_MAX)
		fprintf(to, "and %u more\n", n - LISTED_MAX);
}

int snapshot_fold_print(FILE *to, const struct cprof_recorder *r)
{
	size_t n = cprof_snapshot_n_entries(r), n_groups = 0;
	CLEANUP_FREE struct folded *v = calloc(n + 1, sizeof(*v));
	CLEANUP_FREE struct folded *group = calloc(n + 1, sizeof(*group));
	struct cprof_snapshot_entry e;
	struct cprof_snapshot_window w;
	cprof_snapshot_window(r, &w);
	const char *what = w.is_task ? "goroutine" : "thread";
	if (!v || !group)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		cprof_snapshot_entry(r, i, &e);
		v[i] = (struct folded){ .stack = e.stack, .entry = (uint32_t)i };
	}
	qsort(v, n, sizeof(*v), compare_stack);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i; next < n && v[next].stack == v[i].stack;)
			next++;
		group[n_groups++] = (struct folded){ v[i].stack, (uint32_t)i,
						     (uint32_t)(next - i) };
	}
	qsort(group, n_groups, sizeof(*group), compare_n);
	for (size_t i = 0; i < n_groups; i++) {
		fprintf(to, "\n%u %s%s:\n", group[i].n, what, units_s(group[i].n));
		print_threads(to, r, v + group[i].entry, group[i].n);
		snapshot_text_stack(to, r, group[i].stack);
	}
	return 0;
}
