#ifndef CPROF_STACK_STACK_MARKS_H
#define CPROF_STACK_STACK_MARKS_H

/*
 * The label `stack`: which frames of a sample are heuristic ("guessed"), and where its stack was
 * joined to an earlier one.  Frames are numbered as in the profile, from the root, which is 1.
 */

#include <stdbool.h>
#include <stdint.h>

struct labels;
struct strtab;
struct unwind_result;

#define STACK_MARKS_KEY "stack"
#define STACK_MARKS_GUESSED_MAX 7u

struct stack_marks {
	uint32_t n_joined;              /* outermost frames from an earlier stack; 0: no joint */
	uint32_t n_guessed;             /* heuristic frames */
	uint32_t guessed[STACK_MARKS_GUESSED_MAX]; /* numbers of the outermost of them, then 0 */
};

/* The marks of a user stack: frames by the code, and by the frame pointer in files without CFI.
 * JIT code keeps the frame pointer, so its frames are not marked. */
void stack_marks_of(const struct unwind_result *r, struct stack_marks *ret);

/* Adds n_outer frames outside of those that were unwound. */
static inline void stack_marks_move(struct stack_marks *m, uint32_t n_outer)
{
	for (uint32_t i = 0; i < m->n_guessed && i < STACK_MARKS_GUESSED_MAX; i++)
		m->guessed[i] += n_outer;
}

static inline bool stack_marks_is_empty(const struct stack_marks *m)
{
	return !m->n_joined && !m->n_guessed;
}

/* A cache of label sets that consist of this label only; zeroed at first. */
struct stack_marks_cache {
	struct {
		struct stack_marks mark;
		uint32_t set;
	} v[64];
};

/* The set whose only label is that of mark, which is not empty; 0: no memory. */
uint32_t stack_marks_set(struct stack_marks_cache *c, struct strtab *strings, struct labels *labels,
			 const struct stack_marks *mark);

#endif
