#ifndef CPROF_SYMBOLIZE_ELF_ELFPLACE_H
#define CPROF_SYMBOLIZE_ELF_ELFPLACE_H

/*
 * From addresses of a profile to those of the ELF file that a mapping names.  A profile may have
 * addresses of the process (memory_start is where the segment was loaded) or of the file
 * itself (memory_start is the segment's p_vaddr, as cprof writes them): both are
 * "offset in the mapping", and the segment with that file offset gives the virtual address.
 */

#include <stdbool.h>
#include <stdint.h>

struct err;

struct elfplace {
	uint64_t delta;      /* vaddr = address + delta, modulo 2^64 */
};

/* Reads the program headers of the file at path.  build_id: hex, "" when unknown; the file must
 * have the same.  -ENOENT, -EACCES ..: it cannot be opened; -EINVAL: no such segment or not ELF;
 * -ESTALE: it is another build. */
int elfplace_find(const char *path, const char *build_id, uint64_t memory_start,
		  uint64_t file_off, struct elfplace *ret, struct err *e);

#endif
