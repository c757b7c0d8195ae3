#ifndef CPROF_VIEW_CONVERT_FROM_H
#define CPROF_VIEW_CONVERT_FROM_H

/*
 * Reads profiles in any format.  The parsers of text (from-folded.h, from-script.h) share a
 * builder: it writes a pprof in memory, which is then read like any other.
 */

#include "base/hashindex.h"
#include "base/membuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "view/model/model.h"

#include <stdbool.h>

struct err;
struct format;
struct pprof;
struct pprof_label;

/* Reads files ("-": stdin) and merges them, as model_read_files does.  *io_format NULL: it is
 * detected from the contents, and set; all files must have the same one. */
int from_read_files(const char *const *path, size_t n_paths, const struct format **io_format,
		    struct model **ret, struct err *e);

/* The format of the bytes: that of a heap profile by its first line, also in gzip or zstd; pprof if
 * some cannot be text, else perf script if a line begins a sample of it, else folded. */
const struct format *from_detect(const char *data, size_t n_bytes);

struct from_function { uint32_t name, file; };  /* in names */
struct from_place { uint32_t module; uint64_t address; size_t first, n; };

struct from {
	struct pprof *p;
	struct strtab names;                 /* of functions and modules */
	struct membuf out;                   /* the pprof */
	VEC(uint32_t) function_of;           /* by name: the function's id, or 0 */
	VEC(uint32_t) mapping_of;            /* likewise */
	VEC(struct from_place) places;       /* by location id - 1 */
	VEC(uint32_t) place_names;
	struct hashindex by_place;
	VEC(struct from_function) functions; /* of from_function */
	VEC(uint64_t) function_ids;
	struct hashindex by_function;
};

/* 0 or -ENOMEM; call from_done in either case. */
int from_begin(struct from *f, struct err *e);
void from_done(struct from *f);

/* The id of a location, or 0 if out of memory.  module: 0 if unknown; name: ids in f->names,
 * innermost first; n: 0 if no name is known. */
uint64_t from_location(struct from *f, uint32_t module, uint64_t address, const uint32_t *name,
		       size_t n);

/* The id of a function in a file, or of a module without addresses; 0 if out of memory.  For
 * readers that write locations themselves; functions of from_location are others. */
uint64_t from_function(struct from *f, const char *name, const char *file);
uint64_t from_module(struct from *f, const char *name);

/* Finishes f->p and reads it. */
int from_finish(struct from *f, struct model **ret, struct err *e);

#endif
