#ifndef CPROF_PROFILE_WAKEELABELS_H
#define CPROF_PROFILE_WAKEELABELS_H

/* The label idle of wake-ups, by the frames of the thread that was woken (engine/wakees.h): a
 * worker that gets work was not waiting for the code that gives it. */

#include <stddef.h>
#include <stdint.h>

struct engine;
struct names;

/* What each label set of the engine is in a file.  All zeros: there are no wake-ups. */
struct wakeelabels {
	uint32_t *set;
	size_t n;
};

/* Looks at all sets; the engine gets new ones.  n has the names of all frames.  -ENOMEM. */
int wakeelabels_resolve(struct engine *g, const struct names *n, struct wakeelabels *ret);
void wakeelabels_done(struct wakeelabels *l);

static inline uint32_t wakeelabels_of(const struct wakeelabels *l, uint32_t set)
{
	return set < l->n ? l->set[set] : set;
}

#endif
