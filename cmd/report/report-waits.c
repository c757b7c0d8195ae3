/*
 * What a profile of waits consists of.  Its total is thread time, so that the states and the
 * threads say more about it than the duration.
 */

#include "cmd/report/report.h"

#include "base/err.h"
#include "cmd/printable.h"
#include "view/model/waiting.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* So many pools fit into a line. */
#define POOLS_MAX 5u

static void close_split(struct report_split *s)
{
	top_free(s->top);
	rows_free(s->rows);
	*s = (struct report_split){ 0 };
}

void report_waits_close(struct report_waits *w)
{
	close_split(&w->state);
	close_split(&w->pool);
	close_split(&w->idle);
	filter_free(w->only_idle);
}

static bool has_waits(const struct report_view *v)
{
	return waiting_is_thread_time(v->m, v->type) || v->f->sample_idle;
}

static int open_split(struct report_split *s, const struct report_view *v, const struct filter *f,
		      const char *label, struct err *e)
{
	int r = rows_new(v->m, f, ROWS_LABEL, label, &s->rows, e);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : top_new(v->m, f, s->rows, v->type, &s->top, e);
}

static int open_idle(struct report_waits *w, const struct report_view *v,
		     const struct report_options *o, struct err *e)
{
	static const char only[] = "idle=^event-loop$,^pool$";
	const char *tag[REPORT_LISTS_MAX + 1];
	struct filter_spec spec = o->filter;
	memcpy(tag, o->tag, o->filter.n_tags * sizeof(*tag));
	tag[spec.n_tags++] = only;
	spec.tag = tag;
	spec.keep_idle = true;
	int r = filter_new(v->m, &spec, &w->only_idle, e);
	return r < 0 ? r : open_split(&w->idle, v, w->only_idle, "idle", e);
}

int report_waits_open(struct report_waits *w, const struct report_view *v,
		      const struct report_options *o, struct err *e)
{
	struct err ignored = { 0 };
	if (!has_waits(v))
		return 0;
	int r = open_split(&w->state, v, v->f, "state", &ignored);
	if (r == 0)
		r = open_split(&w->pool, v, v->f, ROWS_POOL_LABEL, &ignored);
	if (r == 0 && v->f->sample_idle)
		r = open_idle(w, v, o, &ignored);
	return r < 0 ? err_errno(e, ENOMEM, "cannot add up the waits") : 0;
}

/* "blocked 2.00s, preempted 0.05s"; at most `limit` rows. */
static void print_split(const struct report *r, const struct report_split *s, const char *title,
			uint32_t limit)
{
	FILE *out = r->term.out;
	char text[SCALE_TEXT_MAX];
	const char *unit = model_string(r->view.m, r->view.m->type[r->view.type].unit);
	if (!s->top || s->top->n_rows == 0)
		return;
	fprintf(out, "%s: ", title);
	for (uint32_t i = 0; i < s->top->n_rows && i < limit; i++) {
		fputs(i ? ", " : "", out);
		term_print_name(&r->term, top_name(s->top, i)->name, 40);
		int64_t v = s->top->row[i].flat;
		fprintf(out, " %s", scale_text(scale_choose(v, v, unit), v, text));
	}
	if (s->top->n_rows > limit)
		fprintf(out, ", %u more (--by pool)", s->top->n_rows - limit);
}

void report_waits_print(const struct report *r)
{
	const struct report_waits *w = &r->waits;
	FILE *out = r->term.out;
	print_split(r, &w->state, "States", UINT32_MAX);
	if (w->state.top && w->state.top->n_rows)
		fputc('\n', out);
	print_split(r, &w->pool, "Threads", POOLS_MAX);
	if (w->pool.top && w->pool.top->n_rows)
		fputc('\n', out);
	print_split(r, &w->idle, "Idle, not shown", UINT32_MAX);
	if (w->idle.top && w->idle.top->n_rows)
		fputs(" (--idle shows it)\n", out);
}

static void json_split(FILE *out, const struct report_split *s, const char *key)
{
	fprintf(out, "  \"%s\": {", key);
	for (uint32_t i = 0; s->top && i < s->top->n_rows; i++) {
		fputs(i ? ", " : "", out);
		printable_json(out, top_name(s->top, i)->name);
		fprintf(out, ": %" PRId64, s->top->row[i].flat);
	}
	fputs("},\n", out);
}

void report_waits_json(const struct report *r)
{
	if (!has_waits(&r->view))
		return;
	json_split(r->term.out, &r->waits.state, "states");
	json_split(r->term.out, &r->waits.pool, "pools");
	json_split(r->term.out, &r->waits.idle, "idle");
}
