#ifndef CPROF_EVENT_EVELF_H
#define CPROF_EVENT_EVELF_H

/* Where a function is in an ELF file, for probes (perf_event_open(2), uprobe: probe_offset). */

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * The file offset of a symbol of .symtab or .dynsym that has code in a PT_LOAD segment, and the
 * symbol's size (0: unknown).  -ENOENT: no such symbol; -ENOEXEC: not an ELF file; or why the file
 * cannot be read.  e is set.
 */
int evelf_find(const char *path, const char *symbol, uint64_t *ret_file_off,
	       uint64_t *ret_n_bytes, struct err *e);

/* Where a PT_LOAD segment with these flags (PF_X, PF_W) has an address; false: none has it. */
bool evelf_file_off(Elf *elf, uint64_t vaddr, uint32_t flags, uint64_t *ret_file_off);

#endif
