#ifndef CPROF_VIEW_CONVERT_CONV_H
#define CPROF_VIEW_CONVERT_CONV_H

/*
 * A profile in the formats of other tools.  All are text and valid UTF-8 whatever the names in the
 * profile are.  Frames are the rows of rows.h by function, inlined calls included.
 *
 *   folded      "root;caller;leaf VALUE", a line for each distinct stack in the order of the
 *               profile, as flamegraph.pl reads it.  ';' in a name becomes ':'
 *   speedscope  www.speedscope.app/file-format-schema.json, one sampled profile for each
 *               sample type; `type` is the one shown first
 *   chrome      the Trace Event format (complete events, "ph": "X"), read by Perfetto and
 *               chrome://tracing.  A profile has no times, so calls are laid out one after
 *               the other, as long as their value; what is no time counts 1 us for each unit
 *   firefox     the processed profile format of profiler.firefox.com, version 62, which
 *               newer front ends upgrade.  Samples are laid out as for chrome, in ms
 *
 * Each writes through an emit, which the caller has opened and finishes.  *ret_n_left_out
 * is how many samples the format has no room for: those with negative values, in speedscope
 * (of all types) and chrome.  0, or -ENOMEM with e set; then what was written is worthless.
 */

#include "view/convert/emit.h"
#include "view/model/model.h"

struct err;

int conv_folded(const struct model *m, uint32_t type, struct emit *o, uint64_t *ret_n_left_out,
		struct err *e);
int conv_speedscope(const struct model *m, uint32_t type, struct emit *o,
		    uint64_t *ret_n_left_out, struct err *e);
int conv_chrome(const struct model *m, uint32_t type, struct emit *o, uint64_t *ret_n_left_out,
		struct err *e);
int conv_firefox(const struct model *m, uint32_t type, struct emit *o, uint64_t *ret_n_left_out,
		 struct err *e);

#endif
