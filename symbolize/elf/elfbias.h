#ifndef CPROF_SYMBOLIZE_ELF_ELFBIAS_H
#define CPROF_SYMBOLIZE_ELF_ELFBIAS_H

/*
 * From addresses of a profile to virtual addresses of the ELF file that a mapping names.  The
 * profile may have addresses of the process (memory_start is where the segment was loaded) or of
 * the file (memory_start is the segment's p_vaddr, as cprof writes it).  Both are offsets in the
 * mapping, and the segment with the mapping's file offset gives the virtual address.
 */

#include <stdint.h>

struct err;

/*
 * Reads the program headers of the file open as fd; path is for messages.
 * vaddr = address + *ret_bias, modulo 2^64.
 * build_id is in hex, "" if unknown; the file must have the same one.
 * -EINVAL: no ELF file, or no such code segment; -ESTALE: another build id.
 */
int elfbias_find(int fd, const char *path, const char *build_id, uint64_t memory_start,
		 uint64_t file_off, uint64_t *ret_bias, struct err *e);

#endif
