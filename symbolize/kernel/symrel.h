#ifndef CPROF_SYMBOLIZE_KERNEL_SYMREL_H
#define CPROF_SYMBOLIZE_KERNEL_SYMREL_H

/*
 * The debug information of a relocatable file (gABI, ET_REL: a kernel module) as it would be in a
 * program whose sections lie at given addresses.  x86-64 and arm64.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMREL_BYTES_MAX (256u << 20)   /* of debug sections, unpacked; larger is refused */

/* Where the section of that name lies; false where that is unknown: then nothing of it is found. */
struct symrel_place {
	bool (*find)(void *ctx, const char *section, uint64_t *ret_address);
	void *ctx;
	uint64_t deadline_ns;    /* of CLOCK_MONOTONIC; 0: none */
};

/*
 * Links the 64-bit ELF file of this byte order that fd is open for into fresh memory: an ELF file
 * of type ET_EXEC with nothing but the sections .debug_* that symdwarf.h reads.  0, or -EINVAL (no
 * such file, damaged), -ENOTSUP (relocations of a kind unknown here), -EFBIG, -ETIMEDOUT, -ENOMEM.
 */
int symrel_link(int fd, const struct symrel_place *place, uint8_t **ret_image,
		size_t *ret_n_bytes);

#endif
