#ifndef CPROF_ENGINE_ENGINE_WAITS_H
#define CPROF_ENGINE_ENGINE_WAITS_H

/* What an engine with options.waits is given besides records. */

#include "engine/engine.h"
#include "engine/waits-looks.h"

/* What a thread did; SAMPLE r has its ids, to_ns and the stack. */
void engine_add_look(struct engine *g, const struct record *r, const struct waits_look *seen);

/* With options.has_locks: thread owner, by its own pid namespace, held the lock that the thread
 * waits for. */
void engine_add_holder(struct engine *g, uint32_t pid, uint32_t tid, uint64_t from_ns,
		       uint64_t to_ns, uint32_t owner);

/* Between two times the functions of an interpreter were read, which make the stack of native
 * another one; STACKS_NONE: they are unknown.  label: the key that says how sure they are. */
void engine_add_functions(struct engine *g, uint32_t tid, uint64_t from_ns, uint64_t to_ns,
			  struct waits_place native, uint32_t stack, const char *label);

/* Records are about to be read: what interpreters execute is read again. */
void engine_tick_functions(struct engine *g, uint64_t now_ns);

/* Counts waits and runs up to now_ns that have not ended. */
void engine_settle(struct engine *g, uint64_t now_ns);

#endif
