#ifndef CPROF_LABELS_SAMPLELABELS_H
#define CPROF_LABELS_SAMPLELABELS_H

/*
 * The labels of a sample: what the kernel tells of it (--labels), what the user gave (--label), and
 * what the program says of what it was doing then.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stack/stack-marks.h"

struct engine;
struct label;
struct procs_thread;
struct record;

struct samplelabels {
	uint32_t *pmu;               /* per event: the value of its label pmu; 0 none */
	struct label *fixed;         /* options.label as string ids */
	struct {
		uint32_t own, app, both;
	} joined[256];               /* label sets, as they were joined lately */
	struct stack_marks_cache marks;
};

/* A thread's last set, and what it was made of.  Zeroed at first. */
struct samplelabels_memo {
	uint32_t set, thread_name, process_name, cpu, pmu;
	bool is_made;
};

/* Key of the label with that bit of enum engine_label, or NULL: "pid", "thread_name" ... */
const char *samplelabels_key(unsigned bit);

/* The engine's; -ENOMEM. */
int samplelabels_init(struct engine *g);
void samplelabels_done(struct samplelabels *l);

/* Whether cprof itself uses this key (ctx: the engine). */
bool samplelabels_is_key(void *ctx, const char *text);

/* All labels of SAMPLE r of thread t, as a set's id; memo, which may be NULL, is the thread's. */
uint32_t samplelabels_of(struct engine *g, const struct procs_thread *t,
			 struct samplelabels_memo *memo, const struct record *r);

/* The same without those of the program. */
uint32_t samplelabels_own(struct engine *g, const struct procs_thread *t,
			  struct samplelabels_memo *memo, const struct record *r);

/* A set with one more label; set itself where memory is short. */
uint32_t samplelabels_with(struct engine *g, uint32_t set, const char *key, const char *value);

/* plain with the label of mark (stack-marks.h), where it is wanted; ctx: the engine. */
uint32_t samplelabels_marked(void *ctx, uint32_t plain, const struct stack_marks *mark);

#endif
