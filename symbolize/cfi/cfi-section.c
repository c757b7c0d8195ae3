/*
 * Why not map the file?  Rebuilding a library in place truncates it, and then access to a mapped
 * page beyond the new end raises SIGBUS, in a library that installs no signal handlers.  Why not
 * read the whole section? 5.8 MB of libLLVM take 1.5 ms and 5.8 MB of memory, and a recording
 * touches a few percent of it.  So the section gets address space (anonymous, no huge pages, free
 * until touched), and each piece is read into its place on first use.  A file that changes
 * meanwhile gives inconsistent bytes, but readers of CFI treat all bytes as hostile anyway.
 */

#include "symbolize/cfi/cfi-section.h"

#include "symbolize/elf/dso.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* No real .eh_frame is larger: such a header is broken. */
#define SECTION_BYTES_MAX (256ull << 20)

void cfi_section_bytes(struct cfi_section *s, const void *p, size_t n_bytes, uint64_t vaddr)
{
	*s = (struct cfi_section){ .vaddr = vaddr, .n_bytes = n_bytes, .base = p, .fd = -1 };
}

/* Address space for n_bytes; NULL: none left. */
static uint8_t *section_reserve(size_t n_bytes)
{
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, n_bytes, MADV_NOHUGEPAGE);
	return p;
}

static int section_check(int fd, uint64_t file_off, size_t n_bytes)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!n_bytes || n_bytes > SECTION_BYTES_MAX || file_off > (uint64_t)st.st_size ||
	    n_bytes > (uint64_t)st.st_size - file_off)
		return -EFBIG;
	return 0;
}

int cfi_section_file(struct cfi_section *s, int fd, uint64_t file_off, size_t n_bytes,
		     uint64_t vaddr)
{
	int r = section_check(fd, file_off, n_bytes);
	if (r < 0)
		return r;
	size_t n_pieces = (n_bytes + CFI_SECTION_PIECE_BYTES - 1) / CFI_SECTION_PIECE_BYTES;
	uint64_t *have = calloc((n_pieces + 63) / 64, sizeof(*have));
	uint8_t *base = section_reserve(n_bytes);
	if (!have || !base) {
		free(have);
		if (base)
			munmap(base, n_bytes);
		return -ENOMEM;
	}
	*s = (struct cfi_section){ .vaddr = vaddr, .n_bytes = n_bytes, .base = base, .fd = fd,
		.file_off = file_off, .have = have, .n_bytes_mapped = n_bytes };
	return 0;
}

/* Reads n_bytes from the file; false: it is shorter. */
static bool section_pread(int fd, uint8_t *to, size_t n_bytes, uint64_t file_off)
{
	for (size_t done = 0; done < n_bytes;) {
		ssize_t r = pread(fd, to + done, n_bytes - done, (off_t)(file_off + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return false;
		done += (size_t)r;
	}
	return true;
}

bool cfi_section_read(struct cfi_section *s, size_t off, size_t n_bytes)
{
	size_t last = (off + n_bytes - 1) / CFI_SECTION_PIECE_BYTES;
	for (size_t i = off / CFI_SECTION_PIECE_BYTES; i <= last; i++) {
		if (cfi_section_has(s, i))
			continue;
		size_t at = i * CFI_SECTION_PIECE_BYTES, n = s->n_bytes - at;
		if (n > CFI_SECTION_PIECE_BYTES)
			n = CFI_SECTION_PIECE_BYTES;
		int fd = s->kept ? dsokeep_hold(s->kept) : s->fd;
		if (fd < 0)
			return false;
		bool is_read = section_pread(fd, (uint8_t *)s->base + at, n, s->file_off + at);
		if (s->kept)
			dsokeep_release(s->kept);
		if (!is_read)
			return false;
		s->have[i / 64] |= 1ull << (i % 64);
		s->n_bytes_read += n;
	}
	return true;
}

/* Inflates the compressed bytes at raw. */
static int section_inflate(const uint8_t *raw, size_t n_raw, uint8_t **ret, size_t *ret_n)
{
	Elf64_Chdr h;
	if (n_raw < sizeof(h))
		return -EBADMSG;
	memcpy(&h, raw, sizeof(h));
	if (h.ch_type != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	/* deflate compresses by at most 1032:1 */
	if (!h.ch_size || h.ch_size > SECTION_BYTES_MAX || h.ch_size / 1032 > n_raw)
		return -EBADMSG;
	uint8_t *out = section_reserve(h.ch_size);
	if (!out)
		return -ENOMEM;
	uLongf n_out = h.ch_size;
	if (uncompress(out, &n_out, raw + sizeof(h), n_raw - sizeof(h)) != Z_OK ||
	    n_out != h.ch_size) {
		munmap(out, h.ch_size);
		return -EBADMSG;
	}
	*ret = out;
	*ret_n = h.ch_size;
	return 0;
}

int cfi_section_load(struct cfi_section *s, int fd, uint64_t file_off, size_t n_bytes,
		     uint64_t vaddr, bool compressed)
{
	int r = section_check(fd, file_off, n_bytes);
	if (r < 0)
		return r;
	uint8_t *p = section_reserve(n_bytes);
	if (!p)
		return -ENOMEM;
	if (!section_pread(fd, p, n_bytes, file_off)) {
		munmap(p, n_bytes);
		return -EIO;
	}
	if (compressed) {
		uint8_t *out;
		size_t n_out;
		r = section_inflate(p, n_bytes, &out, &n_out);
		munmap(p, n_bytes);
		if (r < 0)
			return r;
		p = out;
		n_bytes = n_out;
	}
	*s = (struct cfi_section){ .vaddr = vaddr, .n_bytes = n_bytes, .base = p, .fd = -1,
		.n_bytes_read = n_bytes, .n_bytes_mapped = n_bytes };
	return 0;
}

void cfi_section_done(struct cfi_section *s)
{
	if (s->n_bytes_mapped)
		munmap((void *)s->base, s->n_bytes_mapped);
	free(s->have);
	*s = (struct cfi_section){ .fd = -1 };
}
