#ifndef CPROF_PROC_JITCFI_H
#define CPROF_PROC_JITCFI_H

/* The CFI that a jitdump has for one piece of JIT code. */

#include <stdint.h>

struct arch;
struct cfi;
struct jitcode_entry;

/* Opens the CFI of e, whose bytes must stay in place until cfi_close.  Its pointers are relative to
 * code at base: 0, or the code's address.  NULL: it does not cover the code, or no memory. */
struct cfi *jitcfi_open(const struct arch *arch, const struct jitcode_entry *e, uint64_t base);

#endif
