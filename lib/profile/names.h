#ifndef CPROF_PROFILE_NAMES_H
#define CPROF_PROFILE_NAMES_H

/*
 * Names for all frames of an engine that some sample has, looked up once for all
 * events: per frame a range of lines, per line a function, per frame a mapping.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/elf/elfcache.h"

struct cprof_naming;
struct engine;
struct err;
struct fetch_file;

struct names_function {
	uint32_t name, linkage, file;  /* strtab ids of the engine's strings */
	uint32_t start_line;
};

/* What becomes a Mapping: one executable segment of a DSO, the kernel, or a module. */
struct names_mapping {
	uint64_t start, limit, file_off;
	uint32_t filename, build_id;   /* strtab ids; build_id 0: none */
	struct symbolizer_has has;
};

#define NAMES_NO_MAPPING UINT32_MAX

struct names_frame {
	uint32_t first_line, n_lines;  /* in lines */
	uint32_t mapping;              /* or NAMES_NO_MAPPING for pseudo frames */
	uint8_t source;                /* enum symbolizer_source */
};

struct names {
	struct symlines lines;
	uint32_t *line_function;       /* per line: index into function */
	VEC(struct names_function) functions;
	struct hashindex by_function;
	struct names_mapping *mapping; /* [0] is the main binary, where one is known */
	uint32_t n_mappings, cap_mappings;
	struct names_frame *frame;     /* by frames id; n_lines 0: no sample has it */
	uint32_t n_frames, main_dso;   /* private, as what follows: for the next look-up */
	size_t n_interned, n_stale_lines;
	uint64_t n_frames_user, n_frames_user_named;
	uint64_t n_frames_kernel, n_frames_kernel_named;
	struct fetch_file *fetched;    /* private: debug files from servers */
	size_t n_fetched;
	struct elfcache kept;           /* private: files that a second look-up has left open */
	uint64_t fetch_ns;             /* private: what they took, in all look-ups */
	struct symbolizer_counts files; /* with fewer names than there could be */
	bool kernel_hidden;            /* kernel frames without names: kptr_restrict */
};

/* A part of the kernel's code, as a recording tells it. */
struct names_kernel_map {
	uint64_t start, end;
	const char *filename;
	const uint8_t *build_id;
	uint8_t n_build_id;            /* 0: unknown */
	const char *symbol;            /* "_text": of the kernel proper; "": none is told */
	uint64_t symbol_address;
};

#define NAMES_TIMEOUT_NS 10000000000u /* for one file, where nobody says another */

struct names_options {
	struct symbolizer_options symbols;  /* kernel is chosen by names_resolve */
	const struct names_kernel_map *kernel_map;  /* for a kernel without names; may be NULL */
	size_t n_kernel_maps;
	const struct cprof_naming *naming;  /* whether debug files are fetched; NULL: no */
	const char *kernel_release;    /* of the recording; NULL: unknown */
	bool running_kernel;           /* may this machine's kallsyms be used? */
	const char *cache_dir;         /* for the kernel's names, and what symbolize/ keeps; NULL:
					* no cache */
};

/* Resolves; the engine's strings grow.  names: all zero, or what was found before for the same
 * engine, of which frames in files are not looked up again.  A kernel whose names are hidden is no
 * failure.  -ENOMEM with e set, and names all zero. */
int names_resolve(struct engine *g, const struct names_options *o, struct names *names,
		  struct err *e);
void names_done(struct names *n);

#endif
