#ifndef CPROF_SYMBOLIZE_KERNEL_SYMREL_H
#define CPROF_SYMBOLIZE_KERNEL_SYMREL_H

/*
 * The debug information of a relocatable file (gABI, ET_REL: a kernel module) as it would be in a
 * program with its sections at given addresses.  x86-64 and arm64.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMREL_BYTES_MAX (256u << 20)   /* of debug sections, decompressed; larger is refused */

/* The address of the section of that name.  False if unknown: no code in it is found then. */
struct symrel_place {
	bool (*find)(void *ctx, const char *section, uint64_t *ret_address);
	void *ctx;
	uint64_t deadline_ns;    /* CLOCK_MONOTONIC; 0: none */
};

/*
 * Links the 64-bit ELF file of this byte order that is open as fd into allocated memory: an ELF
 * file of type ET_EXEC with only the sections .debug_* that symdwarf.h reads.  0, -EINVAL (no such
 * file, damaged), -ENOTSUP (unknown relocations), -EFBIG, -ETIMEDOUT or -ENOMEM.
 */
int symrel_link(int fd, const struct symrel_place *place, uint8_t **ret_image,
		size_t *ret_n_bytes);

#endif
