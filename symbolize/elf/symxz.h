#ifndef CPROF_SYMBOLIZE_ELF_SYMXZ_H
#define CPROF_SYMBOLIZE_ELF_SYMXZ_H

/*
 * Unpacks .gnu_debugdata ("MiniDebugInfo"): an xz stream that holds an ELF file with a symbol
 * table.  symxz.c needs liblzma; symxz-none.c stands in where it is missing.
 */

#include <stddef.h>
#include <stdint.h>

#define SYMXZ_BYTES_MAX (256u << 20)    /* unpacked; larger is taken for damaged */

/* 0 and fresh bytes, or -EINVAL (damaged or too large), -ENOMEM, -ENOTSUP (built without). */
int symxz_unpack(const void *xz, size_t n_xz_bytes, uint8_t **ret_bytes, size_t *ret_n_bytes);

#endif
