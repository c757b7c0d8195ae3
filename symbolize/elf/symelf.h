#ifndef CPROF_SYMBOLIZE_ELF_SYMELF_H
#define CPROF_SYMBOLIZE_ELF_SYMELF_H

/*
 * One DSO opened for naming: its own file, its separate debug file, its symbols.  Everything is
 * read when first needed.  Elf handles live until symelf_close.
 */

#include "symbolize/elf/symdebug.h"
#include "symbolize/elf/symplt.h"
#include "symbolize/elf/symtab.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct dso;

struct symelf {
	const struct dso *d;
	const struct symdebug_place *where;
	int fd, debug_fd;
	Elf *elf;              /* the file itself */
	Elf *debug;            /* its debug file; NULL */
	char *debug_path;      /* for messages; may be NULL although debug is not */
	struct symdebug_misfit misfit;
	Elf *mini;             /* decompressed .gnu_debugdata; NULL */
	uint8_t *mini_bytes;
	bool debug_tried, symbols_read, data_read, plt_read;
	struct symtab symbols, data;
	struct symplt plt;
};

/* 0; -EINVAL if d is not an executable or shared ELF file that libelf accepts; -ENOMEM.  Both
 * pointers are borrowed until close. */
int symelf_open(struct symelf *s, const struct dso *d, const struct symdebug_place *where);
void symelf_close(struct symelf *s);

/* The handle that has .debug_info (the file's own, else the debug file's), or NULL. */
Elf *symelf_dwarf(struct symelf *s);

/* The symbol that covers vaddr, or NULL.  Its name is borrowed until the next call. */
const struct symtab_symbol *symelf_find(struct symelf *s, uint64_t vaddr, const char **ret_name);

/* The addresses around vaddr that symelf_find and symelf_find_plt have the same results for; those
 * of the latter NULL.  False: unknown. */
bool symelf_same(struct symelf *s, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

/* The variable that covers vaddr, or NULL.  Likewise. */
const struct symtab_symbol *symelf_find_data(struct symelf *s, uint64_t vaddr,
					     const char **ret_name);

/* The function that the linker stub at vaddr calls, or NULL if there is no stub.  Borrowed until
 * the next call. */
const char *symelf_find_plt(struct symelf *s, uint64_t vaddr);

#endif
