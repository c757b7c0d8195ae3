#ifndef CPROF_LABELS_SAMPLELABELS_H
#define CPROF_LABELS_SAMPLELABELS_H

/*
 * The labels of a sample: the built-in ones (--labels), those that the user gave (--label), and
 * those that the program had set at that time.
 *
 * The labels of the program come from two providers: applabels.h finds the set that a thread had at
 * a given time, golabels.h that of a goroutine.  A further one needs the same functions (the set of
 * a sample, forget, trim, renewing the ids of sets) and a call next to theirs in samplelabels.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/timelabel.h"
#include "stack/stack-marks.h"

struct applabels;
struct budget;
struct dso_table;
struct golabels;
struct host;
struct label;
struct labels;
struct procs;
struct procs_thread;
struct record;
struct strtab;

/* Built-in labels, as bits. */
enum samplelabel {
	SAMPLELABEL_PID = 1, SAMPLELABEL_TID = 2, SAMPLELABEL_THREAD_NAME = 4,
	SAMPLELABEL_PROCESS_NAME = 8, SAMPLELABEL_CPU = 16, SAMPLELABEL_CGROUP = 32,
	SAMPLELABEL_EXE = 128,       /* with SAMPLELABEL_EXE_BUILD_ID */
	SAMPLELABEL_PROCESS_TITLE = 256,
	SAMPLELABEL_STACK = 64,      /* only on samples that have marks: stack-marks.h */
	/* Left out if all samples have the same. */
	SAMPLELABELS_OPTIONAL = SAMPLELABEL_PID | SAMPLELABEL_TID | SAMPLELABEL_THREAD_NAME |
				SAMPLELABEL_PROCESS_NAME,
	SAMPLELABELS_DEFAULT = SAMPLELABELS_OPTIONAL | SAMPLELABEL_STACK,
};
/* The build id of the program, lower-case hex. */
#define SAMPLELABEL_EXE_BUILD_ID "exe_build_id"
/* In addition, on hybrid machines: of events that several PMUs count. */
#define SAMPLELABEL_PMU "pmu"

/* All borrowed: the tables that labels are added to, and the values that labels are built from. */
struct samplelabels_options {
	struct budget *budget;
	struct strtab *strings;
	struct labels *labels;
	struct applabels *app;       /* the program's own; NULL: none */
	struct golabels *go;         /* those of its goroutines; NULL: none */
	const struct host *host;     /* NULL: a replay */
	const struct dso_table *dsos;  /* of programs */
	const struct procs *procs;   /* where parents are found; NULL: nowhere */
	unsigned wanted;             /* enum samplelabel bits */
	const char *const *fixed;    /* "KEY=VALUE" on every sample, checked by the caller */
	size_t n_fixed;
	const char *const *pmu;      /* per event: its label pmu, or NULL; NULL: none has one */
	size_t n_events;
	const struct timelabel *timeline;  /* when samples are labelled with their times */
};

struct samplelabels {
	struct samplelabels_options options;
	uint32_t *pmu;               /* per event: the string of its label pmu; 0: none */
	struct label *fixed;         /* options.fixed as string ids */
	struct {
		uint32_t first, second, both;
	} joined[256];               /* a cache of joined sets */
	struct stack_marks_cache marks;
	uint64_t n_dropped;          /* samples without some of their labels: memory limit */
};

/* A thread's last set, and the values that it was built from.  Zeroed at first. */
struct samplelabels_memo {
	uint32_t set, thread_name, process_name, title, exe, cpu, pmu;
	uint64_t bucket;             /* of time; UINT64_MAX: none */
	bool is_valid;
};

/* Key of the label with that bit of enum samplelabel, or NULL: "pid", "thread_name" ... */
const char *samplelabels_key(unsigned bit);

/* -ENOMEM.  samplelabels_done in any case. */
int samplelabels_init(struct samplelabels *l, const struct samplelabels_options *o);
void samplelabels_done(struct samplelabels *l);

/* Drops cached ids of strings and sets, because they have changed. */
void samplelabels_forget_ids(struct samplelabels *l);

/* Does cprof itself use this key?  ctx: a struct samplelabels. */
bool samplelabels_is_key(void *ctx, const char *text);

/* All labels of SAMPLE r of thread t, as a set's id; memo is the thread's, or NULL. */
uint32_t samplelabels_of(struct samplelabels *l, const struct procs_thread *t,
			 struct samplelabels_memo *memo, const struct record *r);

/* The same without those of the program. */
uint32_t samplelabels_own(struct samplelabels *l, const struct procs_thread *t,
			  struct samplelabels_memo *memo, const struct record *r);

/* A set with one more label; the set itself if memory is short. */
uint32_t samplelabels_with(struct samplelabels *l, uint32_t set, const char *key,
			   const char *value);

/* plain with the label of mark (stack-marks.h), if it is wanted; ctx: a struct samplelabels. */
uint32_t samplelabels_marked(void *ctx, uint32_t plain, const struct stack_marks *mark);

#endif
