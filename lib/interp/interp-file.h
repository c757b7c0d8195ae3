#ifndef CPROF_INTERP_INTERP_FILE_H
#define CPROF_INTERP_INTERP_FILE_H

/*
 * What the contents of a file say about the interpreter in it.  The processes that execute the file
 * share it, because reading its symbols takes longer than all samples of a short program.  Nothing
 * here depends on the memory of a process, so no process can change what another one gets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/vec.h"
#include "interp/interp-saved.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/runtime-symbols.h"

struct dso;
struct interp_language;

#define INTERP_FILE_SYMBOLS_MAX 6u
#define INTERP_FILE_GLUE 512u           /* a power of two */
/* More files than that are not shared. */
#define INTERP_FILES_MAX 64u

/* A file that is written again in place has the same device, inode and path as before. */
struct interp_file_id {
	dev_t dev;
	ino_t ino;
	off_t n_bytes;
	struct timespec changed;        /* ctime, which only the kernel sets */
};

struct interp_file {
	uint32_t serial;                /* of its DSO */
	const struct interp_language *language;
	struct runtime_symbol symbol[INTERP_FILE_SYMBOLS_MAX];  /* those of the language */
	char saved_name[INTERP_SAVED_NAME_MAX];
	/* What the language has read from the file, by malloc(3); NULL: nothing yet. */
	void *of_language;
	/* private */
	struct interp_file_id id;
	uint32_t languages;
	struct symelf elf;              /* names of native functions */
	bool has_elf, is_listed, is_recent;
	uint32_t n_users;               /* processes */
	uint64_t glue[INTERP_FILE_GLUE];/* the last results: vaddr << 1 | result */
};

struct interp_files { VEC(struct interp_file *) v; };   /* all zero: empty */

/* The file of a DSO, for one more process, if its contents are those that were read.  Languages are
 * a set of bits: the file is found only with the same set that it was added with.  NULL: it is not
 * known; also if f is NULL. */
struct interp_file *interp_files_take(struct interp_files *f, const struct dso *d,
				      uint32_t languages);

/* Adds it, for one process; f: NULL if no other process will ask.  NULL: no memory. */
struct interp_file *interp_files_add(struct interp_files *f, const struct dso *d,
				     uint32_t languages, const struct interp_language *l,
				     const struct runtime_symbol symbol[INTERP_FILE_SYMBOLS_MAX]);

/* The process needs it no more. */
void interp_file_release(struct interp_file *file);

/* Closes files that no process has needed since the last call but one. */
void interp_files_trim(struct interp_files *f);
/* After all processes have released theirs. */
void interp_files_done(struct interp_files *f);

/* Has a native function no name, or one that is_name knows?  The file remembers the results. */
bool interp_file_is_glue(struct interp_file *file, uint64_t vaddr,
			 bool (*is_name)(const char *name));

#endif
