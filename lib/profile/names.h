#ifndef CPROF_PROFILE_NAMES_H
#define CPROF_PROFILE_NAMES_H

/*
 * Names for all frames of an engine that some sample has, looked up once for all events: for each
 * frame a range of lines and a mapping, for each line a function.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "profile/locknames.h"
#include "profile/wakeelabels.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/elf/elfcache.h"

struct cprof_naming;
struct engine;
struct err;
struct fetch_file;
struct namecache;

struct names_function {
	uint32_t name, linkage, file;  /* strtab ids of the engine's strings */
	uint32_t start_line;
};

/* Becomes a Mapping of the profile: one executable segment of a DSO, the kernel, or a module. */
struct names_mapping {
	uint64_t start, limit, file_off;
	uint64_t shift;                /* start = address in memory - shift: of the kernel */
	uint32_t filename, build_id;   /* strtab ids; build_id 0: unknown */
	struct symbolizer_has has;
};

#define NAMES_NO_MAPPING UINT32_MAX

struct names_frame {
	uint32_t first_line, n_lines;  /* range of `lines` */
	uint32_t mapping;              /* or NAMES_NO_MAPPING for pseudo frames */
	uint64_t address;              /* the frame's vaddr; of kernel code, see names-mapping.h */
	uint8_t source;                /* enum symbolizer_source */
	/* Addresses with the same lines: from same_before before the frame's to below same_after
	 * after it; both 0: unknown. */
	uint32_t same_before, same_after;
};

struct names {
	struct symlines lines;
	VEC(uint32_t) line_functions;  /* per line: index into functions */
	VEC(struct names_function) functions;
	struct hashindex by_function;
	VEC(struct names_mapping) mappings; /* [0] is the main binary, if known */
	VEC(struct names_frame) frames; /* by frame id; n_lines 0: no sample has it */
	struct locknames locks;
	struct wakeelabels wakees;
	uint32_t main_dso;             /* private: of the last look-up */
	size_t n_stale_lines;          /* private: lines that no frame has any more */
	uint64_t n_frames_user, n_frames_user_named;
	uint64_t n_frames_kernel, n_frames_kernel_named;
	struct fetch_file *fetched;    /* private: debug files from servers */
	size_t n_fetched;
	struct elfcache kept;           /* private: files that a second look-up keeps open */
	uint64_t fetch_ns;             /* private: time spent on servers, in all look-ups */
	struct symbolizer_counts files; /* DSOs and JIT processes with fewer names than possible */
	uint64_t n_jit_no_descriptor;  /* private: of files.n_no_descriptor */
	bool kernel_hidden;            /* kernel frames without names: kptr_restrict */
};

/* A part of the kernel's code, as a recording describes it. */
struct names_kernel_map {
	uint64_t start, end;
	const char *filename;
	const uint8_t *build_id;
	uint8_t n_build_id;            /* 0: unknown */
	const char *symbol;            /* "_text": of the kernel proper; "": unknown */
	uint64_t symbol_address;
};

#define NAMES_TIMEOUT_NS 10000000000u /* for one file, by default */

struct names_options {
	struct symbolizer_options symbols;  /* names_resolve chooses the kernel */
	const struct names_kernel_map *kernel_map;  /* for a kernel without names; may be NULL */
	size_t n_kernel_maps;
	const struct cprof_naming *naming;  /* whether debug files are fetched; NULL: no */
	const char *kernel_release;    /* of the recording; NULL: unknown */
	bool running_kernel;           /* may this machine's kallsyms be used? */
	bool may_ask_kernel;           /* may BPF programs be loaded for its names? */
	const char *cache_dir;         /* for the kernel's names and the files of symbolize/;
				        * NULL: no cache */
	const struct namecache *known; /* names of earlier profiles; NULL: none */
};

/* Resolves names; the engine's strings grow.  names: all zero, or earlier results for the same
 * engine, whose frames in files are not looked up again.  Hidden kernel names are not a failure.
 * -ENOMEM with e set, and names all zero. */
int names_resolve(struct engine *g, const struct names_options *o, struct names *names,
		  struct err *e);
void names_done(struct names *n);

#endif
