#ifndef CPROF_ENGINE_WAITS_LOOKS_H
#define CPROF_ENGINE_WAITS_LOOKS_H

/* Looks at threads in /proc, which show where they wait if no sample does (proc/threadread.h). */

#include <stdbool.h>
#include <stdint.h>

#include "engine/waits-thread.h"

struct waits;

/* What a thread was seen doing; ignored if it has ended. */
void waits_looks_add(struct waits *w, const struct waits_look *look);

/* Longest waits first: calls each with the threads that have been blocked since before_ns, with an
 * unknown or incomplete stack, and were not looked at since then.  False ends it early. */
void waits_looks_each(struct waits *w, uint64_t before_ns,
		      bool (*each)(void *ctx, uint32_t pid, uint32_t tid), void *ctx);

/* Calls each with the threads that have had short waits without a stack since the last call for
 * them.  False ends it early; the next call goes on from there. */
void waits_looks_each_short(struct waits *w, bool (*each)(void *ctx, uint32_t pid, uint32_t tid),
			    void *ctx);

/* Does the look show the thread's present wait, and no other one whose records were lost? */
bool waits_looks_fit(const struct waits *w, const struct waits_thread *t,
		     const struct waits_look *look, uint64_t now_ns);

/* Where the thread waits, by its sample or its look. */
struct waits_place waits_looks_place(const struct waits *w, const struct waits_thread *t,
				     uint64_t now_ns);

/* Its present wait has no complete stack. */
void waits_looks_want(struct waits *w, struct waits_thread *t);

/* Calls each with the threads that have begun to wait for a lock since the last call, and still
 * wait for it.  False ends it: the holders of the others will not be known. */
void waits_looks_each_lock(struct waits *w, bool (*each)(void *ctx, const struct waits_thread *t),
			   void *ctx);

/*
 * Calls each with threads that have been blocked since before_ns, whose functions were not read
 * since then, and the place of their wait.  False from each ends it early, and *from, 0 at first,
 * makes the next call go on from there.
 */
typedef bool waits_looks_native_fn(void *ctx, const struct waits_thread *t,
				   struct waits_place native);
bool waits_looks_each_native(struct waits *w, size_t *from, uint64_t before_ns,
			     waits_looks_native_fn *each, void *ctx);

/* Between two times the functions of a thread's interpreter were read: a wait at native that
 * contains both was in fact at `functions`, which may be waits_nowhere. */
void waits_looks_add_functions(struct waits *w, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			       struct waits_place native, struct waits_place functions);

/* Between two times a thread held the lock that another one waits for: labels has both labels. */
void waits_looks_add_holder(struct waits *w, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			    uint32_t labels);

#endif
