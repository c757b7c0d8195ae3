#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_HOTSPOT_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_HOTSPOT_H

/*
 * Rules for x86-64 code of Java's compilers, which use the frame pointer for anything unless
 * -XX:+PreserveFramePointer says otherwise: the code that enters a method, sought backwards from
 * the pc, says how large its frame is, for the stack pointer stays where that has put it.
 */

#include "symbolize/cfi/cfi-code.h"

/* The rule at pc, where a frame was interrupted (is_exact) or will go on; c->accept has the last
 * word.  False when no method's beginning is found, or the stack does not bear it out. */
bool runtime_hotspot_rule(const struct cfi_code *c, uint64_t pc, bool is_exact,
			  struct cfi_rule *ret);

#endif
