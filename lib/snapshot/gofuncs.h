#ifndef CPROF_SNAPSHOT_GOFUNCS_H
#define CPROF_SNAPSHOT_GOFUNCS_H

/* The functions that goroutines began with, and the places that created them: few, and each many
 * times. */

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/runtime.h"

struct dso;
struct strtab;

struct gofuncs_place {
	uint64_t vaddr;
	uint32_t function;              /* string; 0: unknown */
	uint32_t text;                  /* string: "main.main /src/main.go:12" */
	bool is_runtime;                /* a goroutine that begins there is the runtime's own */
};

struct gofuncs {
	struct strtab *strings;         /* borrowed */
	struct symelf elf;
	struct runtime_names names;
	bool is_open;
	VEC(struct gofuncs_place) places;
	struct hashindex by_vaddr;
};

/* Names of d's functions; without names if its file cannot be read.  d is borrowed. */
void gofuncs_open(struct gofuncs *f, const struct dso *d, struct strtab *strings);
void gofuncs_close(struct gofuncs *f);

/* NULL: no memory.  Borrowed until the next call. */
const struct gofuncs_place *gofuncs_at(struct gofuncs *f, uint64_t vaddr);

#endif
