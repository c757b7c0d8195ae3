#ifndef CPROF_VIEW_MODEL_MODEL_MERGE_H
#define CPROF_VIEW_MODEL_MODEL_MERGE_H

/* Merges many files: those of a fleet. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct model;

#define MODEL_MERGE_THREADS_MAX 64u
#define MODEL_RUN_LABEL "cprof::run"  /* of samples: which run of the program, from 1 */
/* Begins a comment of two profiles whose runs with the same number were made in turns. */
#define MODEL_PAIRS_NOTE "in pairs: "

struct model_merge {
	const char *const *dropped_label;   /* keys of labels that the samples lose */
	size_t n_dropped_labels;
	uint64_t window_ns;     /* samples get a label "window", the time of their file, rounded
	                         * down to this; 0: they do not */
	bool numbers_runs;      /* each file is a run: MODEL_RUN_LABEL is its number, from 1 */
	uint64_t n_bytes_max;   /* of the model's tables, about; 0: no limit */
	size_t n_comments_max;  /* further ones are left out; 0: too many are an error */
	uint32_t n_threads;     /* 0: one */
	/* Called for a file that is left out because it cannot be read, is damaged, or has other
	 * sample types; from any thread, in the order of the files.  NULL: that is an error. */
	void (*skip)(void *ctx, size_t index, const struct err *why);
	void *ctx;
};

/*
 * Merges as model_read_files does; with all numbers of threads the result is the same.  Threads
 * read files, and add them one after the other, so more of them need hardly more memory.  -E2BIG:
 * the tables exceed n_bytes_max.
 */
int model_merge_files(const char *const *path, size_t n_paths, const struct model_merge *how,
		      struct model **ret, struct err *e);

/* -ENOMEM with e set. */
int model_add_comment(struct model *m, const char *text, struct err *e);

#endif
