#ifndef CPROF_SYMBOLIZE_CFI_CFI_SWITCH_H
#define CPROF_SYMBOLIZE_CFI_CFI_SWITCH_H

/* How often code loads the stack pointer from elsewhere, as functions do that go to another stack,
 * and back. */

#include <stddef.h>
#include <stdint.h>

#include "symbolize/cfi/cfi-entry.h"

/* The longest function that is worth being read from its start: what switches stacks is short. */
#define CFI_SWITCH_BYTES_MAX 1024u

/* In n bytes of code from a function's start on, one instruction behind the other; what stands
 * behind an instruction that cannot be told is not counted. */
unsigned int cfi_switch_n_loads(enum cfi_arch arch, const uint8_t *code, size_t n_bytes);

#endif
