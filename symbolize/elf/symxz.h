#ifndef CPROF_SYMBOLIZE_ELF_SYMXZ_H
#define CPROF_SYMBOLIZE_ELF_SYMXZ_H

/*
 * Decompresses .gnu_debugdata ("MiniDebugInfo"): an xz stream with an ELF file that has a symbol
 * table.  Without liblzma, symxz-none.c is used.
 */

#include <stddef.h>
#include <stdint.h>

#define SYMXZ_BYTES_MAX (256u << 20)    /* decompressed; larger data is treated as damaged */

/* 0 and allocated bytes; -EINVAL: damaged or too large; -ENOMEM; -ENOTSUP: built without
 * liblzma. */
int symxz_unpack(const void *xz, size_t n_xz_bytes, uint8_t **ret_bytes, size_t *ret_n_bytes);

#endif
