/* A page with folded boxes has the same sums as one with all. */

#include "base/err.h"
#include "view/html/html-data.h"
#include "view/html/html-tree.h"
#include "view/profile-build.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define N_STACKS 400
#define N_FRAMES 16
#define N_TYPES 2

static const char *const frame[N_FRAMES] = {
	"a@x.c:1", "a@x.c:2", "b@x.c:3", "c@y.c:1", "c@z.c:1", "d@dir/../y.c:9", "in+out",
	"in+in+a", "[lib.so]", "[other.so]", "e@x.c:1", "f@x.c:1", "g@q.c:4", "h+b@x.c:3",
	"k@y.c:2", "l@y.c:3",
};

static uint32_t state = 7;

static unsigned pick(unsigned n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 16) % n;
}

static void make_profile(struct build *b, unsigned seed)
{
	static char text[N_STACKS][512];
	const char *line[N_STACKS];
	state = seed;
	for (int i = 0; i < N_STACKS; i++) {
		int n = snprintf(text[i], sizeof(text[i]), "%u,%u", 1 + pick(3), pick(500));
		for (unsigned k = 3 + pick(10); k > 0; k--)
			n += snprintf(text[i] + n, sizeof(text[i]) - (size_t)n, " %s",
				      frame[pick(N_FRAMES)]);
		snprintf(text[i] + n, sizeof(text[i]) - (size_t)n, " main ; thread=t%u", pick(3));
		line[i] = text[i];
	}
	build_profile(b, "samples/count cpu/nanoseconds", line, N_STACKS);
}

/* ---- sums by row ------------------------------------------------------------------------ */

#define ROWS_MAX 64

struct sums {
	char *name[ROWS_MAX];
	int64_t flat[2][N_TYPES][ROWS_MAX], cum[2][N_TYPES][ROWS_MAX];
	uint32_t n;
};

/* The file of a frame as rows have it. */
static const char *file_of(const struct html_tables *t, const struct html_frame *f)
{
	const char *file = strtab_get(&t->strings, f->file);
	return strcmp(file, "dir/../y.c") == 0 ? "y.c" : file;
}

static uint32_t row_of(struct sums *s, const struct html_tables *t, uint32_t at, enum rows_by by)
{
	char name[256];
	const struct html_frame *f = &t->frames.v[at];
	bool is_named = f->flags & HTML_FRAME_NAMED;
	const char *file = file_of(t, f);
	if (by == ROWS_MODULE || (by == ROWS_FILE ? !*file : !is_named))
		snprintf(name, sizeof(name), "m:%s", strtab_get(&t->strings, f->module));
	else if (by == ROWS_FILE)
		snprintf(name, sizeof(name), "f:%s", file);
	else
		snprintf(name, sizeof(name), "n:%s:%s:%lld", strtab_get(&t->strings, f->name),
			 by == ROWS_LINE ? file : "",
			 by == ROWS_LINE ? (long long)f->line : 0);
	for (uint32_t i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0)
			return i;
	if (s->n == ROWS_MAX)
		abort();
	s->name[s->n] = strdup(name);
	return s->n++;
}

static int64_t value_of(const struct html_tree *t, const struct html_side *s,
			const struct html_sample *x, uint32_t type)
{
	return x->index == HTML_SAMPLE_FOLDED ? t->values.v[x->first_value + type]
					      : html_value(s, x->index, type);
}

static void add_list(struct sums *to, const struct html_tables *t, const struct html_sums *from,
		     enum rows_by by, int side, bool is_flat)
{
	for (size_t i = 0; i < from->frame.n; i++) {
		if (!from->frame.v[i])
			continue;
		uint32_t row = row_of(to, t, from->frame.v[i] - 1, by);
		for (int k = 0; k < N_TYPES; k++)
			(is_flat ? to->flat : to->cum)[side][k][row] += from->value.v[i * N_TYPES +
										      (size_t)k];
	}
}

/* As the page computes them. */
static void sum_up(struct sums *to, const struct html_tables *tables, const struct html_tree *t,
		   const struct html_side *side, int n_sides, enum rows_by by)
{
	CLEANUP_FREE uint32_t *node = calloc(t->n_numbered + 1, sizeof(*node));
	for (uint32_t i = 1; i < t->nodes.n; i++)
		node[t->nodes.v[i].number] = i;
	*to = (struct sums){ 0 };
	for (int s = 0; s < n_sides; s++) {
		for (size_t i = 0; i < t->samples[s].n; i++) {
			const struct html_sample *x = &t->samples[s].v[i];
			bool seen[ROWS_MAX] = { false };
			for (uint32_t at = node[x->node]; at; at = t->nodes.v[at].parent) {
				const struct html_node *v = &t->nodes.v[at];
				if (v->n_folded)
					continue;
				uint32_t row = row_of(to, tables, v->frame, by);
				for (uint32_t k = 0; k < N_TYPES; k++) {
					int64_t value = value_of(t, &side[s], x, k);
					to->flat[s][k][row] += at == node[x->node] ? value : 0;
					to->cum[s][k][row] += seen[row] ? 0 : value;
				}
				seen[row] = true;
			}
		}
		add_list(to, tables, &t->sums[s][HTML_SUMS_FLAT], by, s, true);
		add_list(to, tables, &t->sums[s][HTML_SUMS_CUM + by], by, s, false);
	}
}

static bool same_sums(const struct sums *a, const struct sums *b)
{
	uint32_t n_same = 0;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < b->n; j++) {
			if (strcmp(a->name[i], b->name[j]) != 0)
				continue;
			n_same++;
			for (int s = 0; s < 2; s++)
				for (int k = 0; k < N_TYPES; k++)
					if (a->flat[s][k][i] != b->flat[s][k][j] ||
					    a->cum[s][k][i] != b->cum[s][k][j])
						return false;
		}
	return n_same == a->n && a->n == b->n;
}

/* ---- trees ----------------------------------------------------------------------------- */

static int64_t total_of(const struct html_tree *t, const struct html_side *side, int n_sides,
			uint32_t type)
{
	int64_t total = 0;
	for (int s = 0; s < n_sides; s++)
		for (size_t i = 0; i < t->samples[s].n; i++)
			total += value_of(t, &side[s], &t->samples[s].v[i], type);
	return total;
}

/* Does each sample follow one of the same or a smaller node and label set? */
static bool is_sorted(const struct html_tree *t, int side)
{
	for (size_t i = 1; i < t->samples[side].n; i++) {
		const struct html_sample *x = &t->samples[side].v[i - 1], *y = x + 1;
		if (x->node > y->node || (x->node == y->node && x->labels > y->labels))
			return false;
	}
	return true;
}

static void compare(const struct html_part *part, int n_sides, uint32_t max_nodes)
{
	struct err e = { 0 };
	struct html_tables tables = { 0 };
	struct html_side side[2] = { 0 };
	struct html_tree all = { 0 }, few = { .max_nodes = max_nodes };
	static struct sums whole, folded;
	if (strtab_init(&tables.strings, NULL) < 0)
		abort();
	for (int i = 0; i < n_sides; i++)
		if (html_side_open(&tables, &side[i], &part[i], part[0].m, &e) < 0)
			abort();
	if (html_tree_make(&all, &tables, side, n_sides, N_TYPES, &e) < 0 ||
	    html_tree_make(&few, &tables, side, n_sides, N_TYPES, &e) < 0 || tables.failed)
		abort();
	tap_ok(!all.is_folded && all.n_numbered == all.nodes.n - 1,
	       "%d sides: by default nothing is folded", n_sides);
	tap_ok(few.is_folded && few.folded_max > 0 && few.n_numbered < all.n_numbered,
	       "%u boxes allowed: %u of %u remain", max_nodes, few.n_numbered, all.n_numbered);
	for (uint32_t k = 0; k < N_TYPES; k++)
		tap_int(total_of(&few, side, n_sides, k), total_of(&all, side, n_sides, k),
			"the total is the same");
	tap_ok(is_sorted(&few, 0) && is_sorted(&few, 1) && is_sorted(&all, 0),
	       "samples are in the order of nodes");
	bool is_right = true;
	for (uint32_t i = 1; i < few.nodes.n; i++) {
		const struct html_node *v = &few.nodes.v[i];
		bool is_large = v->weight > few.folded_max;
		is_right &= v->n_folded ? v->number != 0 : is_large == (v->number != 0);
	}
	tap_ok(is_right, "exactly the boxes above the limit remain");
	for (int by = 0; by < ROWS_LABEL; by++) {
		sum_up(&whole, &tables, &all, side, n_sides, (enum rows_by)by);
		sum_up(&folded, &tables, &few, side, n_sides, (enum rows_by)by);
		tap_ok(whole.n > 2 && same_sums(&whole, &folded),
		       "rows by %s have the same sums", rows_kind_name((size_t)by));
		for (uint32_t i = 0; i < whole.n; i++)
			free(whole.name[i]);
		for (uint32_t i = 0; i < folded.n; i++)
			free(folded.name[i]);
	}
	html_tree_done(&all);
	html_tree_done(&few);
	html_side_done(&side[0]);
	html_side_done(&side[1]);
	html_tables_done(&tables);
}

int main(void)
{
	struct build b[2];
	struct html_part part[2] = { { 0 } };
	struct err e = { 0 };
	static const struct filter_spec filters[2] = { [1] = { .regex[FILTER_HIDE] = "^b$" } };
	for (int i = 0; i < 2; i++)
		make_profile(&b[i], (unsigned)i);
	for (int f = 0; f < 2; f++) {
		struct model *m[2];
		struct filter *filter[2];
		for (int i = 0; i < 2; i++) {
			if (model_read(b[i].sink.bytes.v, b[i].sink.bytes.n, &m[i], &e) < 0 ||
			    filter_new(m[i], &filters[f], &filter[i], &e) < 0)
				abort();
			part[i] = (struct html_part){ m[i], filter[i], "x" };
		}
		compare(part, 1, 50);
		compare(part, 1, 1);
		compare(part, 2, 200);
		for (int i = 0; i < 2; i++) {
			filter_free(filter[i]);
			model_free(m[i]);
		}
	}
	build_done(&b[0]);
	build_done(&b[1]);
	return tap_done();
}
