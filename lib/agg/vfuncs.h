#ifndef CPROF_AGG_VFUNCS_H
#define CPROF_AGG_VFUNCS_H

/*
 * Functions without code of their own, because an interpreter executes them.  A frame of one has a
 * DSO of the kind DSO_RUNTIME, and its address is the function and the line: vfuncs_vaddr().
 *
 * Functions are never removed, and their ids count up without gaps.
 */

#include "base/hashindex.h"
#include "base/strtab.h"

#include <stdbool.h>
#include <stdint.h>

struct budget;

struct vfunc {
	uint32_t name, file;            /* of the strings below; file 0: unknown */
	uint32_t first_line;            /* 0: unknown */
};

#define VFUNCS_NONE UINT32_MAX

struct vfuncs {
	struct budget *budget;
	struct strtab strings;          /* their own */
	struct vfunc *v;
	uint32_t n, cap;
	struct hashindex index;
};

int vfuncs_init(struct vfuncs *f, struct budget *budget);  /* -ENOMEM */
void vfuncs_done(struct vfuncs *f);

/* The function's id.  VFUNCS_NONE when it is new and memory is out or the budget refuses. */
uint32_t vfuncs_add(struct vfuncs *f, const char *name, const char *file, uint32_t first_line);

/* Moves an address to another table.  False: it has no such function, or no memory. */
bool vfuncs_copy(struct vfuncs *to, const struct vfuncs *from, uint64_t *vaddr);

static inline uint64_t vfuncs_vaddr(uint32_t function, uint32_t line)
{
	return (uint64_t)function << 32 | line;
}

/* The function and the line of a frame; NULL: there is no such function. */
static inline const struct vfunc *vfuncs_at(const struct vfuncs *f, uint64_t vaddr,
					    uint32_t *ret_line)
{
	*ret_line = (uint32_t)vaddr;
	return vaddr >> 32 < f->n ? &f->v[vaddr >> 32] : NULL;
}

#endif
