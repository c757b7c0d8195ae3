#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_CALL_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_CALL_H

/* What the code around a frame's pc says of its caller. */

#include "symbolize/unwind/unwind.h"

struct unwind_walk;

/* What the call before a return address says of the function that it is said to have called. */
enum unwind_call {
	UNWIND_CALL_OF_IT,
	UNWIND_CALL_INDIRECT,           /* by a pointer or a linker's stub: it may be */
	UNWIND_CALL_OF_ANOTHER,         /* or no call at all */
};

/* pc: an address in the function that was called; ra: the return address.  Reads the files. */
enum unwind_call unwind_call_before(const struct arch *arch, module_find *find_module,
				    void *ctx, uint64_t pc, uint64_t ra);

/* What is at a return address, as far as CFI and code tell.  Reads the files. */
enum unwind_call_site {
	UNWIND_CALL_SITE_NONE,          /* no call precedes it: it is not a return address */
	UNWIND_CALL_SITE,
	UNWIND_CALL_SITE_ROOT,          /* in the outermost function of a stack */
};
enum unwind_call_site unwind_call_site(const struct arch *arch, module_find *find_module, void *ctx,
				       uint64_t ra);

/* What was found out, for what is asked for every sample. */
struct unwind_call_cache {
	struct unwind_call_known {
		uint64_t key;
		bool is_so;
	} v[256];
};

/* The entry for a question about two addresses of the address space, which code in files answers;
 * true when its answer is known. */
enum unwind_call_question {
	UNWIND_CALL_MAY_BE,
	UNWIND_CALL_IS_IT,
	UNWIND_CALL_IS_ONE,
	UNWIND_CALL_IS_SWITCHED,
	UNWIND_CALL_IS_BEHIND,          /* is there a call before the first address? */
};
bool unwind_call_known(const struct unwind_walk *w, enum unwind_call_question q, uint64_t a,
		       uint64_t b, struct unwind_call_known **ret);

/* Is ra a return address of the function that the newest frame runs in, as far as code tells? */
bool unwind_call_may_be(const struct unwind_walk *w, uint64_t ra);

/* Does the call before ra name that function? */
bool unwind_call_is_it(const struct unwind_walk *w, uint64_t ra);

/* Do addresses a and b lie in the same function, as far as CFI tells? */
bool unwind_call_is_one(const struct unwind_walk *w, uint64_t a, uint64_t b);
bool unwind_call_is_one_function(module_find *find_module, void *ctx, uint64_t a,
				 uint64_t b);

/*
 * Has the function that frame i runs in gone to another stack before it came to that pc, by CFI
 * that does not say so?  Then there is no caller.
 */
bool unwind_call_is_switched(const struct unwind_walk *w, uint32_t i);

#endif
