#ifndef CPROF_SYMBOLIZE_NAME_SYMBOLIZER_H
#define CPROF_SYMBOLIZE_NAME_SYMBOLIZER_H

/*
 * From (dso, vaddr) to names, files and lines.  Works in batches, one DSO at a time, so that each
 * file is opened once, each compile unit is read once, and only one file's debug information is in
 * memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct host;
struct jitcode;
struct jitcode_view;
struct log;
struct strtab;
struct symkdebug_kernel;
struct elfcache;
struct symkernel;

/* One line of a location.  Strings are ids in the symbolizer's strtab. */
struct symline {
	uint32_t name;         /* demangled; never 0 */
	uint32_t linkage;      /* as in the object file; equal to name if not mangled */
	uint32_t file;         /* 0: unknown */
	uint32_t line;         /* 0: unknown */
	uint32_t column;       /* 0: unknown */
	uint32_t start_line;   /* line of the function's declaration; 0: unknown */
};

enum symbolizer_source {       /* where the name came from */
	SYMBOLIZER_NONE,       /* made up: "[libfoo.so]+0x1234"; CFI has the start */
	SYMBOLIZER_DYNSYM, SYMBOLIZER_SYMTAB, SYMBOLIZER_PLT, SYMBOLIZER_DWARF,
	SYMBOLIZER_KALLSYMS, SYMBOLIZER_JIT, SYMBOLIZER_RUNTIME, SYMBOLIZER_PSEUDO,
	SYMBOLIZER_N_SOURCES
};

/* One address in, its inline chain out. */
struct symaddr {
	uint64_t vaddr;        /* ELF virtual address; for the kernel the address itself */
	uint32_t first_line;   /* out: lines[first_line .. + n_lines - 1], innermost inlinee */
	uint32_t n_lines;      /* first, the real function last */
	uint8_t source;        /* out: enum symbolizer_source of the real function's name */
	/* out: addresses around vaddr with exactly the same lines; both 0: unknown */
	uint64_t same_start, same_end;
};

struct symlines {              /* all lines of all batches, append-only */
	struct symline *v;
	size_t n, cap;
};

struct symbolizer_options {
	const struct host *host;        /* debug files are looked for below its root */
	const char *const *debug_dirs;  /* NULL-terminated; NULL: { "/usr/lib/debug", NULL } */
	uint8_t demangle;               /* enum demangle_mode */
	bool only_addresses;            /* files' code gets no lines at all */
	bool no_inlines;                /* ignore DWARF: names from symbol tables only */
	int fetched_fd;                 /* the DSO's debug file from elsewhere; 0: none */
	const char *fetched_path;
	const struct log *log;          /* LOG_EXPLAIN: for each DSO where its names came from */
	const struct jitcode_view *jit; /* names for a DSO_ANON; the first match wins */
	size_t n_jit;
	const struct jitcode *kernel_code; /* BPF programs and the like, from records; NULL */
	struct symkernel *kernel;       /* names for DSO_KERNEL and DSO_MODULE; may be NULL */
	const struct symkdebug_kernel *kernel_debug; /* its debug files; NULL: not requested */
	const char *cache_dir;          /* for compressed debug information; NULL: none */
	uint64_t timeout_ns;            /* for one DSO's debug information; 0: none */
	struct symbolizer_counts *counts; /* added to; may be NULL */
	struct elfcache *kept;           /* files that stay open afterwards; NULL: none */
};

/* DSOs with fewer names than possible. */
struct symbolizer_counts {
	uint64_t n_timeouts;            /* timeout_ns was used up */
	uint64_t n_misfits;             /* their debug file does not match and was not used */
	uint64_t n_lost;                /* a file was given up: foreign_is_lost */
	uint64_t n_no_descriptor;       /* a file was not opened: foreign_lacks_descriptor */
};

/* What is known about a DSO's names after a batch (Mapping.has_*). */
struct symbolizer_has {
	bool functions, filenames, line_numbers, inline_frames;
};

/*
 * Resolves n addresses of one DSO, and leaves addr sorted by vaddr.  Every address gets at least
 * one line, unless o->only_addresses, or they are a DSO_RUNTIME's, whose names the caller knows.
 * Lines are appended to lines, strings to strings.  Fails only with -ENOMEM; a problem with a file
 * means fewer names, and a log line.
 */
int symbolizer_resolve(const struct symbolizer_options *o, const struct dso *d,
		       struct symaddr *addr, size_t n, struct symlines *lines,
		       struct strtab *strings, struct symbolizer_has *ret_has);

#endif
