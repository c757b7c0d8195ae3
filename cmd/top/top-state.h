#ifndef CPROF_CMD_TOP_TOP_STATE_H
#define CPROF_CMD_TOP_TOP_STATE_H

/* The state of cprof top, and the parts that change it: options, refreshes, keys. */

#include "base/err.h"
#include "cmd/filemode.h"
#include "cmd/launch.h"
#include "cmd/realtime.h"
#include "cmd/record/targetopts.h"
#include "cmd/signals.h"
#include "cmd/top/top-screen.h"
#include "cmd/top/top-tables.h"
#include "cmd/top/top-view.h"
#include "cprof.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outfile;

struct top_options {
	uint64_t batch;                /* number of refreshes; 0: on the screen */
	uint64_t interval_ns, window_ns, symbol_timeout_ns, limit;
	const char *output;            /* of the key w; NULL: numbered names */
	struct filemode mode;          /* likewise */
	bool wants_idle, wants_locks;
};

struct top_state {
	struct top_options o;
	struct targetopts rec;
	struct signals signals;
	struct realtime realtime;
	struct launch launch;
	struct cprof_cgroup *cgroup;  /* the command's; NULL: none */
	struct top_screen screen;
	struct term term;
	struct cprof_recorder *recorder;
	struct top_tally *tally;       /* per event */
	struct top_view_losses *losses;
	size_t n_events, event;        /* event: the one shown */
	struct top_tally_table functions, threads, states, locks;
	enum top_tally_order order;
	uint32_t thread;               /* as in struct top_view, as is first */
	size_t first;
	bool frozen, help, ended, quit;
	char message[ERR_TEXT_MAX], target[128];
	char *cache_dir;
	uint64_t shown_ns, own_cpu_ns, n_written;
	double own_cpu;
};

extern const struct argp top_argp;

/* cmd/top/top-opts.c: parses, or prints what is wrong and exits with status 64. */
void top_opts_parse(struct top_state *top, int argc, char **argv);

/* cmd/top/cmd-top.c: around what may take long.  A signal then ends the program after two seconds,
 * and a second one at once; it removes the unfinished file, if there is one. */
void top_work_begin(struct top_state *top, const struct outfile *const *unfinished);
void top_work_end(struct top_state *top);

/* cmd/top/top-refresh.c */

/* Starts the clocks of the refreshes; called when the recording starts. */
void top_refresh_begin(struct top_state *top);

/* Adds the samples since the last refresh, and makes new tables. */
int top_refresh_take(struct top_state *top, struct err *e);

/* Discards everything recorded so far. */
int top_refresh_reset(struct top_state *top, struct err *e);

/* Makes new tables: after the choice of another order, thread or event. */
int top_refresh_tables(struct top_state *top, struct err *e);

/* Shows the state on the screen, or prints it. */
void top_refresh_draw(struct top_state *top);

/* cmd/top/top-keys.c: handles the keys pressed, and redraws. */
int top_keys_take(struct top_state *top, struct err *e);

/* Shows a message in the last line until the next key. */
void top_keys_show(struct top_state *top, const char *what);

#endif
