#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_LABELS_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_LABELS_H

/*
 * The profiler labels of a goroutine (pprof.Do, pprof.SetGoroutineLabels) as they are in memory: a
 * map of strings until Go 1.23 (src/runtime/map.go), a slice of pairs of strings since then
 * (src/internal/runtime/pprof/label).  Neither changes while a goroutine has it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/runtime/go-layout.h"

struct runtime_memory;

#define GO_LABELS_MAX 64u               /* of a goroutine; others are ignored */
#define GO_LABELS_TEXT_BYTES_MAX 1024u  /* of a key or a value; the rest is cut off */

/* Offsets in text, where keys and values end with NUL. */
struct go_label { uint32_t key, value; };

struct go_labels {
	struct go_label label[GO_LABELS_MAX];
	uint32_t n;
	bool is_cut;                    /* some label is missing, or cut */
	VEC(char) text;
};

static inline const char *go_labels_text(const struct go_labels *l, uint32_t off)
{
	return l->text.v + off;
}

/* Reads the labels at address at, which is not 0, in a few steps; sorted by key.  ret is all zero
 * or an earlier result, and freed by go_labels_done.  False: they are malformed, cannot be read, or
 * memory is short. */
bool go_labels_read(const struct runtime_memory *m, enum go_label_format format, uint64_t at,
		    struct go_labels *ret);
void go_labels_done(struct go_labels *l);

#endif
