#ifndef CPROF_SYMBOLIZE_ELF_DSOKEEP_H
#define CPROF_SYMBOLIZE_ELF_DSOKEEP_H

/*
 * The open files of a table of DSOs, as many as the limit of descriptors allows.  The least
 * recently used one is closed when there are more, and opened again when somebody reads it.
 *
 * The functions below may be called by several threads, for different DSOs or the same one.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;

/* What is known of one DSO in the set. */
struct dsokeep_file {
	struct dsokeep *keep;
	struct dso *dso;
	struct dsokeep_file *newer, *older;  /* of the open ones */
	uint32_t n_holds;
	bool is_lost;             /* another file has its name now, or it has none any more */
	void *origin;             /* the owner's, for opening it again; freed with free(3) */
};

struct dsokeep {
	size_t n_open;
	size_t max_open;          /* 0: half of the current RLIMIT_NOFILE */
	/* Opens the same file as before: a descriptor or -errno. */
	int (*reopen)(void *ctx, const struct dso *d, const void *origin);
	void *ctx;
	struct dsokeep_file *newest, *oldest;
	pthread_mutex_t lock;
};

int dsokeep_init(struct dsokeep *k);
void dsokeep_done(struct dsokeep *k);  /* the set must be empty */

/* Adds d, whose file has just been opened, with its origin (also on failure owned by the set), and
 * closes others beyond the limit.  -ENOMEM: d stays open, outside of the set. */
int dsokeep_add(struct dsokeep *k, struct dso *d, void *origin);

/* Takes d out of the set and closes its file.  Does nothing if d is in none. */
void dsokeep_remove(struct dso *d);

/* Closes up to n files that nobody holds, the least recently used first; returns how many. */
size_t dsokeep_shed(struct dsokeep *k, size_t n);

/* Did an open fail for lack of descriptors (its result says so: foreign_lacks_descriptor), and has
 * this closed files, so that it may be tried again?  k may be NULL. */
bool dsokeep_makes_room(struct dsokeep *k, int result);

/* Has d a file, which may be closed now? */
bool dsokeep_has_file(const struct dso *d);

/* d's descriptor until dsokeep_release, or -errno: -ENOENT if it has no file, -EMFILE if the file
 * was closed and cannot be opened again for whatever reason. */
int dsokeep_hold(const struct dso *d);
void dsokeep_release(const struct dso *d);

/* A duplicate of d's descriptor, which the caller closes; or -errno as above. */
int dsokeep_dup(const struct dso *d);

/* Was d's file closed for lack of descriptors, and can it not be opened again? */
bool dsokeep_is_lost(const struct dso *d);

#endif
