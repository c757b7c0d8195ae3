#include "recorder/kinds/allocprogram.h"

#include "base/cleanup.h"
#include "base/foreign.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 64u

/* The library is loaded by ld-linux-ARCH.so, if it was built with glibc.  musl loads such
 * libraries, too, and uses itself as their C library. */
#ifdef __GLIBC__
#define IS_GLIBC true
#else
#define IS_GLIBC false
#endif

/* The name of its dynamic loader; false: it has none. */
static bool read_loader(int fd, const Elf64_Ehdr *h, char loader[256])
{
	for (unsigned i = 0; i < h->e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(h->e_phoff + i * sizeof(p));
		if (pread(fd, &p, sizeof(p), at) != sizeof(p))
			return false;
		if (p.p_type != PT_INTERP)
			continue;
		ssize_t n = pread(fd, loader, 255, (off_t)p.p_offset);
		loader[n > 0 ? n : 0] = '\0';
		return true;
	}
	return false;
}

const char *allocprogram_why_not(const struct foreign_want *want)
{
	struct stat st;
	Elf64_Ehdr h;
	char loader[256];
	CLEANUP_CLOSE int fd = foreign_open(NULL, want, &st);
	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program";
	if (st.st_mode & (S_ISUID | S_ISGID))
		return "it is set-user-ID or set-group-ID";
	if (!read_loader(fd, &h, loader))
		return "it is static";
	bool fits = strstr(loader, "/ld-musl") || (IS_GLIBC && strstr(loader, "/ld-linux"));
	return fits ? NULL : "its C library is another one than that of libcprof-alloc.so";
}
