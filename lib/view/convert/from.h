#ifndef CPROF_VIEW_CONVERT_FROM_H
#define CPROF_VIEW_CONVERT_FROM_H

/*
 * Profiles out of other formats: which one it is, and a builder that the parsers
 * (from-folded.h, from-script.h) share.  The builder writes a pprof in memory, which is then read
 * as any other.
 */

#include "base/membuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "view/model/dedup.h"
#include "view/model/model.h"

#include <stdbool.h>

struct err;
struct pprof;
struct pprof_label;

enum from_format { FROM_AUTO, FROM_PPROF, FROM_FOLDED, FROM_SCRIPT };

/* Reads files ("-": stdin) and merges them.  FROM_AUTO: looks at what is in them; all must be of
 * one format.  As model_read_files. */
int from_read_files(const char *const *path, size_t n_paths, enum from_format format,
		    struct model **ret, struct err *e);

/* What the bytes look like: pprof if there are bytes that no text has, else perf script if
 * some line begins a sample of it, else folded. */
enum from_format from_guess(const char *data, size_t n_bytes);

struct from_place { uint32_t module; uint64_t address; size_t first, n; };

struct from {
	struct pprof *p;
	struct strtab names;                 /* of functions and modules */
	struct membuf out;                   /* the pprof */
	VEC(uint32_t) function_of;           /* by name: the function's id; 0: none yet */
	VEC(uint32_t) mapping_of;            /* by name */
	VEC(struct from_place) places;       /* by location id - 1 */
	VEC(uint32_t) place_names;
	struct dedup by_place;
	uint32_t n_functions, n_mappings;
};

/* 0 or -ENOMEM; from_done is allowed in any case. */
int from_begin(struct from *f, struct err *e);
void from_done(struct from *f);

/* The id of a location: module 0: none; name: ids in f->names, innermost first; n 0: unknown.
 * 0 when memory is out. */
uint64_t from_location(struct from *f, uint32_t module, uint64_t address, const uint32_t *name,
		       size_t n);

/* Finishes f->p and reads it. */
int from_finish(struct from *f, struct model **ret, struct err *e);

#endif
