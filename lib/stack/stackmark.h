#ifndef CPROF_STACK_STACKMARK_H
#define CPROF_STACK_STACKMARK_H

/*
 * The label `stack`: which frames of a sample were guessed, and where its stack was joined to an
 * earlier one.  Frames are numbered from the root, which is 1, as they stand in the profile.
 */

#include <stdbool.h>
#include <stdint.h>

struct labels;
struct strtab;
struct unwind_result;

#define STACKMARK_KEY "stack"
#define STACKMARK_GUESSED_MAX 7u

struct stackmark {
	uint32_t n_joined;              /* the outermost frames, of an earlier stack; 0: no joint */
	uint32_t n_guessed;             /* of all frames */
	uint32_t guessed[STACKMARK_GUESSED_MAX]; /* numbers of the outermost ones; others are 0 */
};

/* What a user stack's marks are: frames by the code, and by the frame pointer in files without
 * CFI.  Code in no file keeps the frame pointer, so there it is no guess. */
void stackmark_of(const struct unwind_result *r, struct stackmark *ret);

/* There are so many more frames further out than were unwound. */
static inline void stackmark_move(struct stackmark *m, uint32_t n_outer)
{
	for (uint32_t i = 0; i < m->n_guessed && i < STACKMARK_GUESSED_MAX; i++)
		m->guessed[i] += n_outer;
}

static inline bool stackmark_is_empty(const struct stackmark *m)
{
	return !m->n_joined && !m->n_guessed;
}

/* Label sets of one label, kept for what comes again; zeroed at first. */
struct stackmark_cache {
	struct {
		struct stackmark mark;
		uint32_t set;
	} v[64];
};

/* The set whose only label is that of mark, which is not empty; 0 when memory is out. */
uint32_t stackmark_set(struct stackmark_cache *c, struct strtab *strings, struct labels *labels,
		       const struct stackmark *mark);

#endif
