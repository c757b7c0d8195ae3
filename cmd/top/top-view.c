/*
 * Each line is made first and then cut to the width, so that no line is too long.  Names from the
 * recorded program (functions, threads, files) are only printed by term_print_name(), which breaks
 * escape sequences.
 */

#include "cmd/top/top-view.h"

#include "base/strtab.h"
#include "view/model/scale.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 9u
#define LOCKS_MAX 9u

struct page {
	const struct top_view *v;
	const struct term *t;
	int left;      /* lines; -1: unlimited */
};

static bool has_room(const struct page *p)
{
	return p->left != 0;
}

/* A line of two parts: our text, and a foreign name that gets the rest of the width. */
static void print_line(struct page *p, enum term_color color, const char *text, const char *name)
{
	if (!has_room(p))
		return;
	const struct term *t = p->t;
	if (color != TERM_PLAIN)
		term_color(t, color);
	int used = term_print_name(t, text, t->width);
	if (name && (t->width == 0 || used < t->width))
		term_print_name(t, name, t->width ? t->width - used : 0);
	if (color != TERM_PLAIN)
		term_color(t, TERM_PLAIN);
	fputc('\n', t->out);
	if (p->left > 0)
		p->left--;
}

const char *top_view_order_name(enum top_tally_order order)
{
	static const char *const name[] = {
		[TOP_TALLY_LAST_FLAT] = "flat, last", [TOP_TALLY_LAST_CUM] = "cum, last",
		[TOP_TALLY_FLAT] = "flat, all", [TOP_TALLY_CUM] = "cum, all",
		[TOP_TALLY_NAME] = "name",
	};
	return name[order];
}

size_t top_view_n_threads(const struct top_view *v, int height)
{
	size_t most = height == 0 ? SIZE_MAX : height < 12 ? 1 : (size_t)height / 6;
	if (height && most > THREADS_MAX)
		most = THREADS_MAX;
	return v->threads->rows.n < most ? v->threads->rows.n : most;
}

static void print_head(struct page *p)
{
	const struct top_view *v = p->v;
	const struct top_view_losses *l = &v->losses;
	char text[512];
	uint64_t rate = v->freq_hz ? v->freq_hz : v->period;
	char at[48] = "";
	if (!v->is_waiting)
		snprintf(at, sizeof(at), " %" PRIu64 "%s", rate,
			 v->freq_hz ? " Hz" : " per sample");
	snprintf(text, sizeof(text), "cprof top%s  %s%s  %.1f s  ",
		 v->has_ended ? " [ended]" : v->is_frozen ? " [frozen]" : "", v->event, at,
		 (double)v->tally->total_ns / 1e9);
	print_line(p, TERM_BOLD, text, v->target);
	/* What is seldom more than 0 comes last, as narrow terminals cut it off. */
	snprintf(text, sizeof(text), "samples %" PRIu64 "  own CPU %.1f%%  lost %" PRIu64
		 "  throttled %" PRIu64 "  cut stacks %" PRIu64 "  dropped %" PRIu64
		 "  undecodable %" PRIu64, l->n_samples, 100 * v->own_cpu, l->n_lost,
		 l->n_throttles, l->n_cut + l->n_truncated, l->n_dropped, l->n_undecodable);
	print_line(p, l->n_lost || l->n_dropped || l->n_undecodable ? TERM_YELLOW : TERM_PLAIN,
		   text, NULL);
}

/* "LAST: 1.20 threads: blocked 90.0%, running 10.0%; idle: 4.00 threads, hidden". */
static void print_states(struct page *p)
{
	const struct top_view *v = p->v;
	const struct top_tally_table *s = v->states;
	double last_ns = (double)top_tally_last_ns(v->tally);
	int64_t idle = top_tables_idle(v->tally, v->thread);
	char text[512], share[SCALE_TEXT_MAX];
	size_t n = 0;
	if (!v->is_waiting || !s || last_ns <= 0)
		return;
	n = (size_t)snprintf(text, sizeof(text), "%.2f threads", (double)s->last_sum / last_ns);
	for (size_t i = 0; i < s->rows.n && n < sizeof(text); i++) {
		const struct top_tally_row *row = &s->rows.v[i];
		if (row->last_flat)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.20s %s",
					      i ? ", " : ": ",
					      strtab_get(&v->tally->strings, row->name),
					      scale_percent(row->last_flat, s->last_sum, share));
	}
	if (idle && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, "; idle: %.2f threads, %s (i)",
			 (double)idle / last_ns, v->tally->shows_idle ? "included" : "hidden");
	print_line(p, TERM_PLAIN, text, NULL);
}

static void print_threads(struct page *p, size_t n)
{
	const struct top_view *v = p->v;
	const struct top_tally *tally = v->tally;
	char text[128], last[SCALE_TEXT_MAX], all[SCALE_TEXT_MAX];
	snprintf(text, sizeof(text), "   LAST     ALL      TID  THREAD  (%zu of %zu)", n,
		 v->threads->rows.n);
	print_line(p, TERM_DIM, text, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct top_tally_row *row = &v->threads->rows.v[i];
		const struct top_tally_thread *thread = &tally->threads.v[row->name];
		/* The tid is a string of our own profile: digits. */
		snprintf(text, sizeof(text), "%c%6s %7s %8s  ",
			 row->name == v->thread ? '>' : ' ',
			 scale_percent(row->last_flat, v->threads->last_sum, last),
			 scale_percent(row->flat, v->threads->sum, all),
			 strtab_get(&tally->strings, thread->tid));
		print_line(p, row->name == v->thread ? TERM_GREEN : TERM_PLAIN, text,
			   strtab_get(&tally->strings, thread->name));
	}
}

/* "LOCK  held by NAME/TID, N threads wait, mostly NAME/TID" */
static void describe_lock(const struct top_tally *t, uint32_t lock, char *text, size_t n_bytes)
{
	struct top_tables_lock l = top_tables_lock(t, lock);
	const struct top_tally_thread *waiter =
		l.waiter == TOP_TALLY_ALL ? NULL : &t->threads.v[l.waiter];
	snprintf(text, n_bytes, "%.60s  held by %.40s, %zu thread%s, mostly %.40s/%s",
		 strtab_get(&t->strings, lock),
		 l.holder ? strtab_get(&t->strings, l.holder) : "?", l.n_waiters,
		 l.n_waiters == 1 ? " waits" : "s wait",
		 waiter ? strtab_get(&t->strings, waiter->name) : "?",
		 waiter ? strtab_get(&t->strings, waiter->tid) : "?");
}

static void print_locks(struct page *p, int height)
{
	const struct top_view *v = p->v;
	size_t most = height == 0 ? LOCKS_MAX : (size_t)height / 6;
	char text[64], name[256], last[SCALE_TEXT_MAX], all[SCALE_TEXT_MAX];
	if (!v->locks || !v->locks->rows.n || (height && height < 12))
		return;
	size_t n = v->locks->rows.n < most ? v->locks->rows.n : most;
	n = n < LOCKS_MAX ? n : LOCKS_MAX;
	snprintf(text, sizeof(text), "   LAST     ALL  LOCK  (%zu of %zu)", n, v->locks->rows.n);
	print_line(p, TERM_DIM, text, NULL);
	for (size_t i = 0; i < n; i++) {
		const struct top_tally_row *row = &v->locks->rows.v[i];
		snprintf(text, sizeof(text), " %6s %7s  ",
			 scale_percent(row->last_flat, v->locks->last_sum, last),
			 scale_percent(row->flat, v->locks->sum, all));
		describe_lock(v->tally, row->name, name, sizeof(name));
		print_line(p, TERM_PLAIN, text, name);
	}
}

static struct scale choose_scale(const struct top_view *v)
{
	int64_t min = 0, max = v->functions->sum;
	for (size_t i = 0; i < v->functions->rows.n; i++) {
		int64_t flat = v->functions->rows.v[i].flat;
		if (flat > max / 1000 && (min == 0 || flat < min))
			min = flat;
	}
	return scale_choose(min, max, v->unit);
}

static void print_functions(struct page *p, int n_below, size_t limit)
{
	const struct top_view *v = p->v;
	const struct top_tally_table *table = v->functions;
	struct scale scale = choose_scale(v);
	char text[256], cell[5][SCALE_TEXT_MAX];
	snprintf(text, sizeof(text), " LAST %3.0f s FLAT/CUM  |  ALL FLAT/CUM              "
		 "FUNCTION  (by %s)",
		 (double)top_tally_last_ns(v->tally) / 1e9, top_view_order_name(v->order));
	print_line(p, TERM_DIM, text, NULL);
	for (size_t i = v->first, n = 0; i < table->rows.n && (limit == 0 || n < limit); i++, n++) {
		const struct top_tally_row *row = &table->rows.v[i];
		if (p->left >= 0 && p->left <= n_below)
			break;
		snprintf(text, sizeof(text), "%8s %8s  | %8s %8s %9s  ",
			 scale_percent(row->last_flat, table->last_sum, cell[0]),
			 scale_percent(row->last_cum, table->last_sum, cell[1]),
			 scale_percent(row->flat, table->sum, cell[2]),
			 scale_percent(row->cum, table->sum, cell[3]),
			 scale_text(scale, row->flat, cell[4]));
		double share = table->last_sum
			? (double)row->last_flat / (double)table->last_sum : 0;
		print_line(p, term_heat(share), text, strtab_get(&v->tally->strings, row->name));
	}
	if (table->rows.n == 0)
		print_line(p, TERM_PLAIN, "no samples yet", NULL);
}

static void print_help(struct page *p)
{
	static const char *const line[] = {
		"FLAT is a function's own cost, CUM includes the functions that it called.  LAST",
		"covers the last seconds, ALL everything since the start or the last reset.",
		"Percentages refer to the thread shown.",
		"",
		"  s, S        next, previous column to sort by",
		"  space       freeze the display; recording continues, and is shown afterwards",
		"  1 ... 9     zoom into the thread in that line, or back to all threads",
		"  t, T, a     zoom into the next, the previous thread; all threads",
		"  up, down    scroll by a line (also k, j); page up, page down; home",
		"  e           next event",
		"  i           with waits: show or hide threads that only wait for work",
		"  w           write a profile of what is shown, since the start or reset",
		"  r           reset: discard everything recorded so far",
		"  h, ?        show or leave this help",
		"  q           quit",
	};
	for (size_t i = 0; i < sizeof(line) / sizeof(*line); i++)
		print_line(p, TERM_PLAIN, line[i], NULL);
}

void top_view_print(const struct top_view *v, const struct term *t, int height, size_t limit)
{
	struct page p = { .v = v, .t = t, .left = height ? height : -1 };
	print_head(&p);
	print_states(&p);
	if (v->wants_help) {
		print_help(&p);
	} else {
		size_t n_threads = top_view_n_threads(v, height);
		/* If there is little room, it belongs to the functions. */
		if (n_threads && (height == 0 || height >= 8))
			print_threads(&p, n_threads);
		if (v->thread != TOP_TALLY_ALL) {
			const struct top_tally_thread *thread = &v->tally->threads.v[v->thread];
			char text[64];
			snprintf(text, sizeof(text), "only thread %s  ",
				 strtab_get(&v->tally->strings, thread->tid));
			print_line(&p, TERM_GREEN, text,
				   strtab_get(&v->tally->strings, thread->name));
		}
		print_locks(&p, height);
		print_functions(&p, height ? 1 : 0, limit);
	}
	while (p.left > 1)
		print_line(&p, TERM_PLAIN, "", NULL);
	if (height && v->message)
		print_line(&p, TERM_CYAN, v->message, NULL);
	else if (height)
		print_line(&p, TERM_DIM, "q quit  s sort  SPC freeze  t thread  a all  "
			   "w write  r reset  e event  h help", NULL);
}
