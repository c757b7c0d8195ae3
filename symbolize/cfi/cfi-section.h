#ifndef CPROF_SYMBOLIZE_CFI_CFI_SECTION_H
#define CPROF_SYMBOLIZE_CFI_CFI_SECTION_H

/*
 * The bytes of one ELF section: either all in memory, or read from the file in pieces on demand.
 * Used by one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;

struct cfi_section {
	uint64_t vaddr;         /* ELF virtual address of the first byte; 0 where it has none */
	size_t n_bytes;         /* 0: no such section */
	const uint8_t *base;    /* its first byte */
	int fd;                 /* borrowed; -1: the file of kept, or all bytes are at base */
	const struct dso *kept; /* borrowed; NULL: fd, or all bytes are at base */
	uint64_t file_off;      /* of the first byte */
	uint64_t *have;         /* a bit per piece: it was read; NULL: all are at base */
	size_t n_bytes_read;    /* memory that pieces take */
	size_t n_bytes_mapped;  /* to be unmapped; 0: base is borrowed */
};

/* Borrows n_bytes at p until cfi_section_done. */
void cfi_section_bytes(struct cfi_section *s, const void *p, size_t n_bytes, uint64_t vaddr);

/* Bytes of an open file, which is borrowed until cfi_section_done.  Does not read yet.
 * -ENOMEM, -EFBIG (larger than the file, or implausibly large). */
int cfi_section_file(struct cfi_section *s, int fd, uint64_t file_off, size_t n_bytes,
		     uint64_t vaddr);

/* As cfi_section_file, but reads all at once.  With `compressed`, inflates a section with
 * SHF_COMPRESSED and zlib.  -EIO, -EBADMSG, -ENOTSUP (another compression). */
int cfi_section_load(struct cfi_section *s, int fd, uint64_t file_off, size_t n_bytes,
		     uint64_t vaddr, bool compressed);

void cfi_section_done(struct cfi_section *s);

bool cfi_section_read(struct cfi_section *s, size_t off, size_t n_bytes);

/* The unit of reading.  One page takes the least memory for scattered functions.  Pieces of up to
 * 32 KB were no faster: the page faults of the copy cost more than the system calls. */
#define CFI_SECTION_PIECE_BYTES 4096u

static inline bool cfi_section_has(const struct cfi_section *s, size_t piece)
{
	return s->have[piece / 64] >> (piece % 64) & 1;
}

/* Borrows n_bytes at off until cfi_section_done.  NULL: they are outside the section, or the file
 * has shrunk. */
static inline const uint8_t *cfi_section_get(struct cfi_section *s, uint64_t off, size_t n_bytes)
{
	if (off > s->n_bytes || n_bytes > s->n_bytes - off)
		return NULL;
	if (!s->have || !n_bytes)
		return s->base + off;
	size_t piece = off / CFI_SECTION_PIECE_BYTES;
	bool is_one = off % CFI_SECTION_PIECE_BYTES + n_bytes <= CFI_SECTION_PIECE_BYTES;
	if (!(is_one && cfi_section_has(s, piece)) && !cfi_section_read(s, off, n_bytes))
		return NULL;
	return s->base + off;
}

#endif
