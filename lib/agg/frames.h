#ifndef CPROF_AGG_FRAMES_H
#define CPROF_AGG_FRAMES_H

/*
 * Interned frames: a frame is a code address in its file, (dso, vaddr), and has a small id.
 * Frames are never removed; ids count up from 0 without gaps.
 */

#include "base/hashindex.h"

#include <stdbool.h>
#include <stdint.h>

struct budget;

struct frame {
	uint64_t vaddr;  /* in the ELF file; kernel: the address; pseudo: strtab id of its name */
	uint32_t dso;    /* dso_table id */
};

#define FRAMES_NONE UINT32_MAX

struct frames {
	struct budget *budget;
	struct frame *v;
	uint32_t n, cap;
	struct hashindex index;
};

int frames_init(struct frames *f, struct budget *budget);
void frames_done(struct frames *f);

/* The frame's id.  FRAMES_NONE when the frame is new and memory is out or the budget refuses;
 * `always`, for the few pseudo frames, charges beyond the budget. */
uint32_t frames_add(struct frames *f, uint32_t dso, uint64_t vaddr, bool always);

#endif
