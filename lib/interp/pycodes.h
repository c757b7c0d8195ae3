#ifndef CPROF_INTERP_PYCODES_H
#define CPROF_INTERP_PYCODES_H

/*
 * The code objects of a CPython process that were met so far.  They are known by their addresses,
 * and by the addresses of their instructions.  Another object may take an address, so what
 * identifies an object is compared again before it is used: each time at first, and more seldom the
 * longer the object has lived.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "interp/codespans.h"
#include "interp/interp-ops.h"
#include "symbolize/runtime/python-code.h"

struct python_layout;
struct runtime_pages;
struct vfuncs;

#define PYCODES_NONE UINT32_MAX
#define PYCODES_LINES 8u

struct pycode {
	uint64_t at;
	struct python_code_key key;
	uint32_t function;              /* of vfuncs; VFUNCS_NONE: it cannot be read */
	struct python_lines lines;
	struct { uint32_t off, line; } known[PYCODES_LINES]; /* off: 0 is not in it */
	uint64_t start, n_bytes;        /* its instructions; n_bytes 0: unknown */
	uint32_t n_frame_bytes;         /* from its frame to the next one; 0: unknown */
	bool is_generator, is_read_twice;
	bool is_module;                 /* it is freed when it has been executed */
	bool is_replaced;               /* another object has its address since */
	bool is_named;                  /* only its name is known; offsets are lines */
	uint64_t met_ns, proven_ns;
	uint64_t used_period;           /* when it was used last, in periods of comparison */
};

struct pycodes {
	/* Borrowed; set by the owner. */
	struct runtime_pages *pages;
	const struct python_layout *layout;
	struct vfuncs *vfuncs;
	uint64_t code_type, bytes_type; /* addresses of PyCode_Type and PyBytes_Type */
	uint64_t now_ns;                /* of the present reading; 0: all is compared */
	uint32_t epoch;                 /* ids are valid until it changes */
	uint32_t n_replaced;            /* objects that were found where another one had been */
	/* Private. */
	VEC(struct pycode) v;
	struct codespans spans;
	struct hashindex by_address;
	VEC(uint32_t) used, due;        /* in this period and in the last one */
	uint64_t period;
	/* Instructions that were searched for without success, for a while. */
	struct { uint64_t instruction, time_ns; } *none;
};
void pycodes_done(struct pycodes *c);

/* Forgets all if there are too many. */
void pycodes_limit(struct pycodes *c);

/* The object at that address.  PYCODES_NONE: there is none, or no memory. */
uint32_t pycodes_at(struct pycodes *c, uint64_t at);

/* Likewise, of those that were met; without comparing more than its address. */
uint32_t pycodes_known(const struct pycodes *c, uint64_t at);

/* The object with the byte before, or at, that address among its instructions.  May search the
 * memory before it for an object that was not met, which it can only where instructions are part of
 * their objects (3.11). */
uint32_t pycodes_of(struct pycodes *c, uint64_t instruction, enum interp_search how);

/* A function of which only the name is known (id of vfuncs); its offsets are lines.  PYCODES_NONE:
 * no memory. */
uint32_t pycodes_named(struct pycodes *c, uint32_t function);

/* The line of an instruction; 0: it has none, or is unknown. */
uint32_t pycodes_line(struct pycodes *c, uint32_t id, uint32_t off);

#endif
