/*
 * Nanoseconds per change of a label, median of 51 rounds.  Run it alone and as the command of
 * `cprof record`.
 */
#include "cprof-labels.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 51
#define CHANGES 100000

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

static const char *const value[] = { "/", "/search", "/cart", "/login", "/help", "/a", "/b", "/c" };
static struct cprof_labels set[8];

static void by_text(int i)
{
	cprof_label_set("request", value[i & 7]);
}

static void by_set(int i)
{
	cprof_labels_adopt(set[i & 7]);
}

static void by_scope(int i)
{
	CPROF_LABEL_SCOPE("request", value[i & 7]);
}

static void measure(const char *name, void (*change)(int i), int n_changes)
{
	double ns[ROUNDS];
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = cprof_labels_monotonic();
		for (int i = 0; i < CHANGES; i++)
			change(i);
		ns[r] = (double)(cprof_labels_monotonic() - start) / CHANGES / n_changes;
	}
	qsort(ns, ROUNDS, sizeof(*ns), compare);
	printf("%-28s %5.1f ns a change\n", name, ns[ROUNDS / 2]);
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		set[i] = cprof_labels_with((struct cprof_labels){ 0 }, "request", value[i]);
	measure("cprof_label_set", by_text, 1);
	measure("cprof_labels_adopt", by_set, 1);
	measure("CPROF_LABEL_SCOPE, each way", by_scope, 2);
	return 0;
}
