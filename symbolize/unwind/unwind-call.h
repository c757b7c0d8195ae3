#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CALL_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CALL_H

/* What the code around a frame's pc says about its caller. */

#include "symbolize/unwind/unwind.h"

struct unwind_walk;

/* Does the call before a return address call a given function? */
enum unwind_call {
	UNWIND_CALL_OF_IT,
	UNWIND_CALL_INDIRECT,           /* perhaps: through a pointer or a PLT entry */
	UNWIND_CALL_OF_ANOTHER,         /* no: it calls another one, or is no call at all */
};

/* pc is an address in the function, ra the return address.  Reads files. */
enum unwind_call unwind_call_before(const struct arch *arch, module_find *find_module,
				    void *ctx, uint64_t pc, uint64_t ra);

/* The kind of call before a return address, by CFI and code.  Reads files. */
enum unwind_call_site {
	UNWIND_CALL_SITE_NONE,          /* no call precedes it: it is not a return address */
	UNWIND_CALL_SITE,
	UNWIND_CALL_SITE_ROOT,          /* in the outermost function of a stack */
};
enum unwind_call_site unwind_call_site(const struct arch *arch, module_find *find_module, void *ctx,
				       uint64_t ra);

/* Known answers, because the same questions come up with every sample. */
struct unwind_call_cache {
	struct unwind_call_known {
		uint64_t key;
		bool is_so;
	} v[256];
};

/* The entry for a question about two addresses of the address space, which depends on code in files
 * only.  True: its answer is known. */
enum unwind_call_question {
	UNWIND_CALL_MAY_BE,
	UNWIND_CALL_IS_IT,
	UNWIND_CALL_IS_ONE,
	UNWIND_CALL_IS_SWITCHED,
	UNWIND_CALL_IS_BEHIND,          /* does a call precede the first address? */
};
bool unwind_call_known(const struct unwind_walk *w, enum unwind_call_question q, uint64_t a,
		       uint64_t b, struct unwind_call_known **ret);

/* May the call before ra be one of the newest frame's function? */
bool unwind_call_may_be(const struct unwind_walk *w, uint64_t ra);

/* Does the call before ra name the newest frame's function? */
bool unwind_call_is_it(const struct unwind_walk *w, uint64_t ra);

/* Are addresses a and b in the same function, by CFI or a runtime's tables? */
bool unwind_call_is_one(const struct unwind_walk *w, uint64_t a, uint64_t b);
bool unwind_call_is_one_function(module_find *find_module, void *ctx, uint64_t a,
				 uint64_t b);

/* Has frame i's function switched to another stack before it reached the pc, without CFI that says
 * so?  Then the frame has no caller. */
bool unwind_call_is_switched(const struct unwind_walk *w, uint32_t i);

#endif
