#ifndef CPROF_ENGINE_WAKEES_H
#define CPROF_ENGINE_WAKEES_H

/*
 * Where the threads waited that others have woken.  A wake-up is counted with the stack of the
 * waker; whether the other thread was idle is known by the names of its own frames, when a profile
 * is written (profile/wakeelabels.h).  Until then the count has a label with the number of that
 * stack, which no file contains.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"

struct label;
struct labels;
struct strtab;

/* No other label has such a key. */
#define WAKEES_KEY "\001wakee"

/* More stacks have no number. */
#define WAKEES_MAX 4096u

struct wakees {
	struct strtab *strings;    /* borrowed, like labels */
	struct labels *labels;
	VEC(uint32_t) stack;
	struct hashindex by_stack;
};

void wakees_init(struct wakees *w, struct strtab *strings, struct labels *labels);
void wakees_done(struct wakees *w);

/* The set with the number of that stack; the set itself if there are too many. */
uint32_t wakees_add(struct wakees *w, uint32_t set, uint32_t stack);

/* The stack by the value of its label; STACKS_NONE: there is none. */
uint32_t wakees_stack(const struct wakees *w, const char *value);

/* Calls each for all stacks, which may change them. */
void wakees_each_stack(struct wakees *w, void (*each)(void *ctx, uint32_t *stack), void *ctx);

/* No count has a number any more. */
void wakees_clear(struct wakees *w);

#endif
