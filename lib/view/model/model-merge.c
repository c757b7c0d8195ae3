/*
 * Each thread takes the next file and reads it (model-input.c); the files are added to the one
 * model in their order, each by the thread that has read it.  So threads need memory only for the
 * file at hand, and what they write does not depend on their number.
 */

#include "view/model/model-merge.h"

#include "base/cleanup.h"
#include "view/model/model-build.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The files that are being read have at most this size in all, or there is only one.  Some eight
 * times as much memory is needed for compressed ones. */
#define READ_BYTES_MAX ((uint64_t)1 << 20)
/* Adding a file takes a quarter of the time, so more threads would only wait. */
#define THREADS_USED_MAX 16u

struct merge {
	const char *const *path;
	size_t n_paths;
	const struct model_merge *how;
	struct model_builder builder;   /* of the thread whose file is number n_added */
	pthread_mutex_t lock;           /* of the following */
	pthread_cond_t *turn;           /* by the file's number modulo n_threads */
	uint32_t n_threads;
	size_t n_taken, n_added;        /* files */
	uint64_t n_bytes;               /* of the files between these */
	int r;
	struct err *e;                  /* of the file for which r is an error */
};

#define ARRAY_BYTES(a) ((a)->cap * sizeof(*(a)->v))
#define INDEX_BYTES(x) ((x)->n_slots * sizeof(*(x)->slot))

static uint64_t held_bytes(const struct model_builder *b)
{
	return b->budget.used_bytes + ARRAY_BYTES(&b->mappings) + ARRAY_BYTES(&b->functions) +
	       ARRAY_BYTES(&b->lines) + ARRAY_BYTES(&b->locations) + ARRAY_BYTES(&b->stacks) +
	       ARRAY_BYTES(&b->stack_locations) + ARRAY_BYTES(&b->labels) +
	       ARRAY_BYTES(&b->label_sets) + ARRAY_BYTES(&b->samples) + ARRAY_BYTES(&b->values) +
	       ARRAY_BYTES(&b->comments) + INDEX_BYTES(&b->by_mapping) +
	       INDEX_BYTES(&b->by_function) + INDEX_BYTES(&b->by_location) +
	       INDEX_BYTES(&b->by_stack) + INDEX_BYTES(&b->by_labels) + INDEX_BYTES(&b->by_sample);
}

static int check_bytes(const struct model_builder *b)
{
	uint64_t limit = b->how->n_bytes_max;
	if (!limit || held_bytes(b) <= limit)
		return 0;
	int r = err_set(b->e, E2BIG, "the merged profile needs more than %llu MiB of memory",
			(unsigned long long)(limit >> 20));
	err_hint(b->e, "--drop-label takes labels away that make samples differ, such as pid and "
		 "tid; --max-memory raises the limit");
	return r;
}

static bool is_to_blame(int r)
{
	return r != -ENOMEM;
}

/* Adds file i, whose reading has returned r. */
static int add_input(struct merge *x, size_t i, const struct model_input *in, int r, struct err *e)
{
	struct model_builder *b = &x->builder;
	b->e = e;
	if (x->how->numbers_runs)
		snprintf(b->run, sizeof(b->run), "%zu", i + 1);
	if (r >= 0) {
		r = model_build_input(b, in);
		if (r < 0)
			err_prefix(e, "cannot read '%s'", x->path[i]);
	}
	if (r < 0 && x->how->skip && is_to_blame(r)) {
		x->how->skip(x->how->ctx, i, e);
		return 0;
	}
	return r < 0 ? r : check_bytes(b);
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static bool is_turn(const struct merge *x, size_t i)
{
	return x->n_added == i || x->r < 0;
}

static void wait_for_turn(struct merge *x, size_t i)
{
	while (!is_turn(x, i))
		pthread_cond_wait(&x->turn[i % x->n_threads], &x->lock);
}

/* The number of the next file; n_paths: there is none. */
static size_t take_file(struct merge *x, uint64_t *ret_bytes)
{
	pthread_mutex_lock(&x->lock);
	size_t i = x->r < 0 ? x->n_paths : x->n_taken;
	if (i < x->n_paths) {
		x->n_taken++;
		*ret_bytes = x->n_threads > 1 ? file_bytes(x->path[i]) : 0;
		x->n_bytes += *ret_bytes;
		if (x->n_bytes > READ_BYTES_MAX)
			wait_for_turn(x, i);
	}
	pthread_mutex_unlock(&x->lock);
	return i;
}

/* Ends the turn of file i. */
static void end_turn(struct merge *x, size_t i, uint64_t n_bytes, int r, const struct err *e)
{
	pthread_mutex_lock(&x->lock);
	x->n_bytes -= n_bytes;
	x->n_added = i + 1;
	if (r < 0) {
		x->r = r;
		*x->e = *e;
	}
	for (uint32_t k = 0; r < 0 && k < x->n_threads; k++)
		pthread_cond_signal(&x->turn[k]);
	pthread_cond_signal(&x->turn[(i + 1) % x->n_threads]);
	pthread_mutex_unlock(&x->lock);
}

static void *run_thread(void *ctx)
{
	struct merge *x = ctx;
	struct model_input in = { 0 };
	uint64_t n_bytes = 0;
	for (size_t i; (i = take_file(x, &n_bytes)) < x->n_paths;) {
		struct err e = { 0 };
		int r = model_input_file(&in, x->path[i], x->how->skip != NULL, &e);
		pthread_mutex_lock(&x->lock);
		wait_for_turn(x, i);
		bool is_over = x->r < 0;
		pthread_mutex_unlock(&x->lock);
		if (!is_over) {
			r = add_input(x, i, &in, r, &e);
			end_turn(x, i, n_bytes, r, &e);
		}
		model_input_close(&in);
	}
	model_input_done(&in);
	return NULL;
}

static void run_threads(struct merge *x, pthread_t *thread)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n_threads; i++)
		pthread_cond_init(&x->turn[i], NULL);
	while (n + 1 < x->n_threads && pthread_create(&thread[n], NULL, run_thread, x) == 0)
		n++;
	run_thread(x);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < x->n_threads; i++)
		pthread_cond_destroy(&x->turn[i]);
}

int model_merge_files(const char *const *path, size_t n_paths, const struct model_merge *how,
		      struct model **ret, struct err *e)
{
	struct err own = { 0 };
	struct merge x = { .path = path, .n_paths = n_paths, .how = how, .n_threads = 1,
			   .lock = PTHREAD_MUTEX_INITIALIZER, .e = e ? e : &own };
	if (how->n_threads > 1 && n_paths > 0)
		x.n_threads = how->n_threads < THREADS_USED_MAX ? how->n_threads : THREADS_USED_MAX;
	if (x.n_threads > n_paths && n_paths > 0)
		x.n_threads = (uint32_t)n_paths;
	CLEANUP_FREE pthread_t *thread = calloc(x.n_threads, sizeof(*thread));
	CLEANUP_FREE pthread_cond_t *turn = calloc(x.n_threads, sizeof(*turn));
	if (!thread || !turn)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	x.turn = turn;
	x.r = model_build_begin(&x.builder, how, x.e);
	if (x.r >= 0)
		run_threads(&x, thread);
	x.builder.e = x.e;
	return model_build_end(&x.builder, x.r, ret);
}

int model_add_comment(struct model *m, const char *text, struct err *e)
{
	uint32_t id = strtab_add_cstr(&m->strings, text);
	uint32_t *grown = id ? realloc(m->comment, (m->n_comments + (size_t)1) * sizeof(*grown))
			     : NULL;
	if (!grown)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	m->comment = grown;
	m->comment[m->n_comments++] = id;
	return 0;
}
