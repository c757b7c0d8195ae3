/* The effect of each key. */

#include "cmd/top/top-state.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "proto/outfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void top_keys_show(struct top_state *top, const char *what)
{
	snprintf(top->message, sizeof(top->message), "%s", what);
}

static int write_file(struct top_state *top, const char *name, const char *comment, struct err *e)
{
	CLEANUP(outfile_abort) struct outfile f = { .fd = -1 };
	int r = outfile_open(&f, name, e);
	if (r < 0)
		return r;
	const struct outfile *const unfinished = &f;
	top_work_begin(top, &unfinished);
	r = top_tally_write(&top->tally[top->event], top->thread, comment, outfile_write, &f, e);
	outfile_error(&f, e);
	filemode_apply(&top->o.mode, &f);
	r = r < 0 ? r : outfile_commit(&f, 1, e);
	top_work_end(top);
	return r;
}

static void write_profile(struct top_state *top)
{
	const struct top_view_losses *l = &top->losses[top->event];
	struct err e = { 0 };
	char path[64], comment[256];
	const char *name = top->o.output;
	for (uint64_t i = top->n_written + 1; !top->o.output; i++) {
		snprintf(path, sizeof(path), "cprof-top.%" PRIu64 ".pb.gz", i);
		name = path;
		top->n_written = i;
		if (access(path, F_OK) < 0)
			break;
	}
	snprintf(comment, sizeof(comment), "cprof top: %" PRIu64 " sample%s, %" PRIu64
		 " lost, %" PRIu64 " stack%s without outer frames, %" PRIu64 " dropped",
		 l->n_samples, units_s(l->n_samples), l->n_lost, l->n_cut + l->n_truncated,
		 units_s(l->n_cut + l->n_truncated), l->n_dropped);
	if (write_file(top, name, comment, &e) < 0)
		top_keys_show(top, e.what);
	else
		snprintf(top->message, sizeof(top->message), "wrote '%.400s'%s", name,
			 top->thread == TOP_TALLY_ALL ? "" : ", of this thread");
}

/* The index of the zoomed thread among those shown; their number if there is none. */
static size_t thread_place(const struct top_state *top)
{
	size_t i = 0;
	while (i < top->threads.rows.n && top->threads.rows.v[i].name != top->thread)
		i++;
	return i;
}

static void zoom_to_place(struct top_state *top, size_t place)
{
	if (place >= top->threads.rows.n)
		return;
	uint32_t thread = top->threads.rows.v[place].name;
	top->thread = thread == top->thread ? TOP_TALLY_ALL : thread;
	top->first = 0;
}

static void zoom_step(struct top_state *top, int by)
{
	size_t n = top->threads.rows.n, at = thread_place(top);
	if (n == 0)
		return;
	if (at >= n)
		at = by > 0 ? 0 : n - 1;
	else
		at = (at + n + (size_t)(by + (int)n)) % n;
	top->thread = top->threads.rows.v[at].name;
	top->first = 0;
}

static void scroll_lines(struct top_state *top, long by)
{
	long at = (long)top->first + by, last = (long)top->functions.rows.n - 1;
	top->first = at < 0 || last < 0 ? 0 : (size_t)(at > last ? last : at);
}

static int handle_key(struct top_state *top, int key, struct err *e)
{
	int r = 0;
	top->message[0] = '\0';
	if (key >= '1' && key <= '9')
		zoom_to_place(top, (size_t)(key - '1'));
	switch (key) {
	case 'q': case 'Q': case TOP_SCREEN_EOF: top->quit = true; return 0;
	case 's': top->order = (top->order + 1) % TOP_TALLY_N_ORDERS; break;
	case 'S': top->order = (top->order + TOP_TALLY_N_ORDERS - 1) % TOP_TALLY_N_ORDERS; break;
	case ' ': top->frozen = !top->frozen; break;
	case 't': zoom_step(top, 1); break;
	case 'T': zoom_step(top, -1); break;
	case 'a': top->thread = TOP_TALLY_ALL; break;
	case 'k': case TOP_SCREEN_UP: scroll_lines(top, -1); break;
	case 'j': case TOP_SCREEN_DOWN: scroll_lines(top, 1); break;
	case TOP_SCREEN_PAGE_UP: scroll_lines(top, -10); break;
	case TOP_SCREEN_PAGE_DOWN: scroll_lines(top, 10); break;
	case TOP_SCREEN_HOME: top->first = 0; break;
	case 'e':
		top->event = (top->event + 1) % top->n_events;
		top->thread = TOP_TALLY_ALL;  /* each event has its own threads */
		break;
	case 'i':
		for (size_t i = 0; i < top->n_events; i++)
			top->tally[i].shows_idle = !top->tally[i].shows_idle;
		top->first = 0;
		break;
	case 'w': write_profile(top); break;
	case 'r': r = top_refresh_reset(top, e); break;
	case 'h': case '?': top->help = !top->help; break;
	}
	return r < 0 ? r : top_refresh_tables(top, e);
}

int top_keys_take(struct top_state *top, struct err *e)
{
	int key;
	bool any = false;
	while (top->screen.is_open && !top->quit &&
	       (key = top_screen_key(&top->screen)) != TOP_SCREEN_NONE) {
		any = true;
		int r = handle_key(top, key, e);
		if (r < 0)
			return r;
	}
	if (any && !top->quit)
		top_refresh_draw(top);
	return 0;
}
