#ifndef CPROF_SOURCE_LIVE_LIVECOPY_H
#define CPROF_SOURCE_LIVE_LIVECOPY_H

/* The part of a BPF program that copies memory at samples (samplecopy.h). */

#include <stdint.h>

#include "source/live/bpfcode.h"
#include "source/samplecopy.h"

/* Instructions that copy the parts of the thread whose id is in r6, if some are wanted; uses r7 to
 * r9, and 16 bytes of the stack.  Two labels are its own. */
void livecopy_emit(const struct samplecopy *c, struct bpfcode *code, uint8_t label, uint8_t other);

#endif
